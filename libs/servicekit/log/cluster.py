"""Connection settings of a Kafka cluster, shared by all our clients."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from aiokafka.helpers import create_ssl_context

from servicekit.errors import StartError
from servicekit.log.settings import KafkaSettings
from servicekit.settings import read_settings


@dataclass(frozen=True)
class Cluster:
    """Kafka cluster with its addresses and security settings.

    `servers` is a comma-separated list of HOST:PORT. `str()` returns only this list, without any secrets.
    """

    servers: str
    security: KafkaSettings = field(default_factory=KafkaSettings.model_construct, repr=False)

    def __str__(self) -> str:
        return self.servers

    def options(self) -> dict[str, Any]:
        """Return the connection options for an aiokafka client.

        Raises StartError if a certificate cannot be used.
        """
        how, options = self.security, dict[str, Any](bootstrap_servers=self.servers)
        if how.security_protocol == "PLAINTEXT":
            return options
        options["security_protocol"] = how.security_protocol
        if how.security_protocol.endswith("SSL"):
            options["ssl_context"] = _ssl_context(how)
        if how.security_protocol.startswith("SASL"):
            assert how.sasl_username is not None
            assert how.sasl_password is not None
            options["sasl_mechanism"] = how.sasl_mechanism
            options["sasl_plain_username"] = how.sasl_username
            options["sasl_plain_password"] = how.sasl_password.get_secret_value()
        return options


Bootstrap = str | Cluster
"""Location of a Kafka cluster: a string of addresses if it needs no security options, otherwise a Cluster."""


def client_options(bootstrap: Bootstrap) -> dict[str, Any]:
    """Return the connection options for an aiokafka client of the cluster `bootstrap`."""
    return bootstrap.options() if isinstance(bootstrap, Cluster) else {"bootstrap_servers": bootstrap}


def cluster_at(servers: str) -> Cluster:
    """Return the Kafka cluster at `servers`, with security settings from the environment.

    Raises StartError if the settings are invalid.
    """
    return Cluster(servers, read_settings(KafkaSettings))


def _ssl_context(how: KafkaSettings) -> ssl.SSLContext:
    password = how.ssl_key_password.get_secret_value() if how.ssl_key_password else None
    try:
        context: ssl.SSLContext = create_ssl_context(
            cafile=how.ssl_ca, certfile=how.ssl_cert, keyfile=how.ssl_key, password=password
        )
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(str(file) for file in (how.ssl_ca, how.ssl_cert, how.ssl_key) if file)
        raise StartError(f"The certificates of KAFKA_SSL_* ({named}) cannot be used: {type(error).__name__}.") from None
    return context
