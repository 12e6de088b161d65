"""A local Kafka with a second listener with TLS and SASL, including certificates."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.local_kafka import LocalKafka
from tests.support.ports import LOOPBACK, free_port

USER, PASSWORD = "services", "a long password"
PEM, PRIVATE = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


class Certificates:
    """Certificate authority, and certificates of the broker and of a client, as PEM files in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._issuer = _named("authority")
        self.ca = self._write("ca", self._signed("authority", self._key, authority=True))
        self.broker, self.broker_key = self._made("broker")
        self.client, self.client_key = self._made("client")
        self.broker_store = folder / "broker-store.pem"
        self.broker_store.write_bytes(self.broker_key.read_bytes() + self.broker.read_bytes())

    def _made(self, name: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        plain = key.private_bytes(PEM, PRIVATE, serialization.NoEncryption())
        return self._write(name, self._signed(name, key)), self._write(f"{name}-key", plain)

    def _signed(self, name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool = False) -> bytes:
        now = dt.datetime.now(dt.UTC)
        address = x509.SubjectAlternativeName(
            [x509.IPAddress(ipaddress.ip_address(LOOPBACK)), x509.DNSName(f"{name}.test")]
        )
        return (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self._issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(address, critical=False)
            .sign(self._key, hashes.SHA256())
            .public_bytes(PEM)
        )

    def _write(self, name: str, content: bytes) -> Path:
        file = self._folder / f"{name}.pem"
        file.write_bytes(content)
        return file


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


class SecuredKafka(LocalKafka):
    """Local Kafka. `secured` is the address of the listener that requires TLS, a client certificate, and a user."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.certificates = Certificates(directory.parent / "certificates")
        self.secured = f"{LOOPBACK}:{free_port()}"
        self.format_options = [
            option
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for option in ("--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]")
        ]

    def _write_settings(self, port: int, data: str) -> None:
        super()._write_settings(port, data)
        file = self._directory / "server.properties"
        login = "org.apache.kafka.common.security"
        listener = "listener.name.secured"
        lines = {}
        for line in file.read_text().splitlines():
            name, _, value = line.partition("=")
            lines[name] = value
        lines["listeners"] += f",SECURED://{self.secured}"
        lines["advertised.listeners"] += f",SECURED://{self.secured}"
        lines |= {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_SSL",
            f"{listener}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{listener}.plain.sasl.jaas.config": f'{login}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
            f"{listener}.scram-sha-256.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
            f"{listener}.ssl.keystore.type": "PEM",
            f"{listener}.ssl.keystore.location": str(self.certificates.broker_store),
            f"{listener}.ssl.truststore.type": "PEM",
            f"{listener}.ssl.truststore.location": str(self.certificates.ca),
            f"{listener}.ssl.client.auth": "required",
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
