"""Authentication methods that the environment enables."""

from __future__ import annotations

from pathlib import Path

import pytest

from servicekit.errors import StartError
from servicekit.settings import read_settings
from servicekit.web.auth import AccessToken
from servicekit.web.auth_settings import AuthSettings, authenticator_for, issuers_of
from servicekit.web.tokens import TokenAuthenticator
from tests.support.issuer import issuers_file


def with_environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> AuthSettings:
    for name in ("AUTH_ISSUERS", "AUTH_KEYS_URL", "AUTH_CORS_ORIGINS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return read_settings(AuthSettings)


def test_issuers_or_a_token_but_not_both_and_not_neither(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = with_environment(monkeypatch)
    assert isinstance(authenticator_for(plain, "sixteen letters."), AccessToken)
    with pytest.raises(StartError, match="AUTH_ISSUERS"):
        authenticator_for(plain, None)
    file = issuers_file(tmp_path, jwks_url="https://i.example/keys")
    issued = with_environment(monkeypatch, AUTH_ISSUERS=str(file))
    assert [type(issuer) for issuer in issuers_of(issued)] == [TokenAuthenticator]
    authenticator_for(issued, None)
    with pytest.raises(StartError, match="not both"):
        authenticator_for(issued, "secret")


def test_with_the_keys_of_reporting_a_service_needs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    authenticator_for(with_environment(monkeypatch, AUTH_KEYS_URL="http://reporting:8080"), None)


def test_lists_come_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = with_environment(monkeypatch, AUTH_CORS_ORIGINS="https://a.example,https://b.example")
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert with_environment(monkeypatch).cors_origins == ()


@pytest.mark.parametrize("values", [{"AUTH_KEYS_URL": "file:///etc/passwd"}, {"AUTH_CORS_ORIGINS": "*"}])
def test_half_a_configuration_does_not_start(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    with pytest.raises(StartError, match="AUTH_") as refused:
        with_environment(monkeypatch, **values)
    assert "passwd" not in str(refused.value)


@pytest.mark.parametrize(
    "more", ['jwks_url = "file:///etc/passwd"', "leeway_seconds = -1", 'audience = ""', "other = 1"]
)
def test_an_issuer_that_cannot_be_used_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: str
) -> None:
    lines = ['issuer = "https://i"', 'audience = "a"', 'jwks_url = "https://i/keys"']
    kept = [line for line in lines if not line.startswith(more.partition(" ")[0] + " ")]
    file = tmp_path / "issuers.toml"
    file.write_text("\n".join(["[[issuer]]", *kept, more]), "utf-8")
    with pytest.raises(StartError, match=r"is not valid: issuer\.0") as refused:
        issuers_of(with_environment(monkeypatch, AUTH_ISSUERS=str(file)))
    assert "passwd" not in str(refused.value)
