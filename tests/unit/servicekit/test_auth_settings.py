"""Authentication methods that the environment enables."""

from __future__ import annotations

import pytest

from servicekit.errors import StartError
from servicekit.settings import read_settings
from servicekit.web.auth import AccessToken
from servicekit.web.auth_settings import AuthSettings, authenticator_for
from servicekit.web.jwt import JwtAuthenticator

ALL = {"AUTH_ISSUER": "https://i", "AUTH_AUDIENCE": "a", "AUTH_JWKS_URL": "https://i/keys"}


def with_environment(monkeypatch: pytest.MonkeyPatch, **values: str) -> AuthSettings:
    for name in (*ALL, "AUTH_ALGORITHMS", "AUTH_CORS_ORIGINS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return read_settings(AuthSettings)


def test_an_issuer_or_a_token_but_not_both_and_not_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = with_environment(monkeypatch)
    assert isinstance(authenticator_for(plain, "sixteen letters."), AccessToken)
    with pytest.raises(StartError, match="AUTH_ISSUER"):
        authenticator_for(plain, None)
    issued = with_environment(monkeypatch, **ALL)
    assert isinstance(authenticator_for(issued, None), JwtAuthenticator)
    with pytest.raises(StartError, match="not both"):
        authenticator_for(issued, "secret")


def test_lists_come_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = with_environment(
        monkeypatch, **ALL, AUTH_ALGORITHMS="ES256, EdDSA", AUTH_CORS_ORIGINS="https://a.example,https://b.example"
    )
    assert settings.algorithms == ("ES256", "EdDSA")
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert with_environment(monkeypatch).cors_origins == ()


@pytest.mark.parametrize(
    "values",
    [
        {"AUTH_ISSUER": "https://i"},
        {"AUTH_ISSUER": "https://i", "AUTH_AUDIENCE": "a"},
        {**ALL, "AUTH_JWKS_URL": "file:///etc/passwd"},
        {**ALL, "AUTH_LEEWAY_SECONDS": "-1"},
        {"AUTH_CORS_ORIGINS": "*"},
    ],
)
def test_half_a_configuration_does_not_start(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    with pytest.raises(StartError, match="AUTH_") as refused:
        with_environment(monkeypatch, **values)
    assert "passwd" not in str(refused.value)


@pytest.mark.parametrize("algorithms", ["HS256", "none", " , "])
def test_algorithms_without_a_public_key_do_not_start(monkeypatch: pytest.MonkeyPatch, algorithms: str) -> None:
    settings = with_environment(monkeypatch, **ALL, AUTH_ALGORITHMS=algorithms)
    with pytest.raises(StartError, match="AUTH_ALGORITHMS"):
        authenticator_for(settings, None)
