"""A local Kafka with several listeners, each with its own advertised address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.local_kafka import LocalKafka
from tests.support.ports import LOOPBACK, free_port

_SETTINGS = "server.properties"


class KafkaWithListeners(LocalKafka):
    """Kafka with an additional listener for each of `names`, which advertises the port in `advertised`.

    Clients learn the broker's address from metadata and coordinator look-ups, so a proxy stays in between only as the
    advertised address.
    """

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        super().__init__(directory)
        self._ports = {name: free_port() for name in names}
        self.advertised: dict[str, int] = {}
        """Advertised loopback port by listener, set before the start."""

    def port_of(self, name: str) -> int:
        """Return the port on which the broker listens for `name`."""
        return self._ports[name]

    def _write_settings(self, port: int, data: str) -> None:
        super()._write_settings(port, data)
        file = self._directory / _SETTINGS
        settings = dict(line.split("=", 1) for line in file.read_text().splitlines())
        for name, own in self._ports.items():
            settings["listeners"] += f",{name.upper()}://{LOOPBACK}:{own}"
            settings["advertised.listeners"] += f",{name.upper()}://{LOOPBACK}:{self.advertised[name]}"
        kinds = ("PLAINTEXT", "CONTROLLER", *(name.upper() for name in self._ports))
        settings["listener.security.protocol.map"] = ",".join(f"{kind}:PLAINTEXT" for kind in kinds)
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
