"""Connection to Kafka; its secrets come from settings and appear in no output."""

from __future__ import annotations

from pathlib import Path

import pytest

from servicekit.errors import StartError
from servicekit.log.cluster import client_options, cluster_at

SASL = {"KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT", "KAFKA_SASL_USERNAME": "ann", "KAFKA_SASL_PASSWORD": "hush"}


def test_without_settings_there_is_no_security() -> None:
    assert (
        client_options(cluster_at("kafka:9092")) == client_options("kafka:9092") == {"bootstrap_servers": "kafka:9092"}
    )


def test_a_password_may_lie_in_a_file_and_shows_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("hush\n")
    for name, value in (SASL | {"KAFKA_SASL_PASSWORD": "", "KAFKA_SASL_PASSWORD_FILE": str(file)}).items():
        monkeypatch.setenv(name, value)
    cluster = cluster_at("kafka:9092")
    assert cluster.options()["sasl_plain_password"] == "hush"
    assert "hush" not in f"{cluster} {cluster!r}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, "needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD"),
        ({"KAFKA_SSL_KEY": "key.pem"}, "KAFKA_SSL_KEY needs KAFKA_SSL_CERT"),
        ({"KAFKA_SECURITY_PROTOCOL": "TLS"}, "Input should be 'PLAINTEXT', 'SSL'"),
        (SASL | {"KAFKA_SASL_PASSWORD": "", "KAFKA_SASL_PASSWORD_FILE": "/no/where"}, "which cannot be read"),
    ],
)
def test_what_cannot_work_is_one_sentence(settings: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StartError, match=said):
        cluster_at("kafka:9092")


def test_a_certificate_that_cannot_be_used_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SECURITY_PROTOCOL", "SSL")
    monkeypatch.setenv("KAFKA_SSL_CA", "/no/where.pem")
    with pytest.raises(StartError, match=r"/no/where\.pem"):
        cluster_at("kafka:9092").options()
