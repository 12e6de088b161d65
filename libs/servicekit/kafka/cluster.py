"""A Kafka and how to reach it: every client of ours takes its connection from here."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from aiokafka.helpers import create_ssl_context
from pydantic import SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from servicekit.failures import StartError
from servicekit.settings import Settings, read_settings

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class KafkaSettings(Settings):
    """From the environment with the prefix KAFKA_, for all clients alike.

    `ssl_ca` holds the certificates to trust, else the system's are; `ssl_cert` and `ssl_key` are the client's own.
    """

    model_config = SettingsConfigDict(env_prefix="KAFKA_")

    security_protocol: Protocol = "PLAINTEXT"
    sasl_mechanism: Mechanism = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_ca: Path | None = None
    ssl_cert: Path | None = None
    ssl_key: Path | None = None
    ssl_key_password: SecretStr | None = None

    @model_validator(mode="after")
    def _are_complete(self) -> Self:
        if self.security_protocol.startswith("SASL") and not (self.sasl_username and self.sasl_password):
            raise ValueError(f"{self.security_protocol} needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD")
        if self.ssl_key is not None and self.ssl_cert is None:
            raise ValueError("KAFKA_SSL_KEY needs KAFKA_SSL_CERT")
        return self


@dataclass(frozen=True)
class Cluster:
    """A Kafka at `servers` (HOST:PORT,...). Its text form is the addresses alone."""

    servers: str
    security: KafkaSettings = field(default_factory=KafkaSettings.model_construct, repr=False)

    def __str__(self) -> str:
        return self.servers

    def options(self) -> dict[str, Any]:
        """What aiokafka's clients are built with. Raises StartError where a certificate cannot be used."""
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
"""Where a Kafka is: addresses alone for one without security."""


def client_options(bootstrap: Bootstrap) -> dict[str, Any]:
    """What aiokafka's clients are built with to reach `bootstrap`."""
    return bootstrap.options() if isinstance(bootstrap, Cluster) else {"bootstrap_servers": bootstrap}


def cluster_at(servers: str) -> Cluster:
    """The Kafka at `servers`, secured as the environment says. Raises StartError where that is not sound."""
    return Cluster(servers, read_settings(KafkaSettings))


def _ssl_context(how: KafkaSettings) -> ssl.SSLContext:
    password = how.ssl_key_password.get_secret_value() if how.ssl_key_password else None
    try:
        made: ssl.SSLContext = create_ssl_context(
            cafile=how.ssl_ca, certfile=how.ssl_cert, keyfile=how.ssl_key, password=password
        )
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(str(file) for file in (how.ssl_ca, how.ssl_cert, how.ssl_key) if file)
        raise StartError(f"The certificates of KAFKA_SSL_* ({named}) cannot be used: {type(error).__name__}.") from None
    return made
