"""Settings of authentication (`AUTH_*`), and factories for the authenticators they configure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from servicekit.clock import SystemClock
from servicekit.errors import StartError
from servicekit.settings import Settings
from servicekit.web.auth import AccessToken, AnyOf, Authenticator

if TYPE_CHECKING:
    from servicekit.web.remote_keys import RemoteKeys

TOKEN_LENGTH = 16
"""Minimum length of an access token, in characters."""
_ADDRESS = r"^https?://[^\x00-\x20]+$"
Names = Annotated[tuple[str, ...], NoDecode]
"""List, separated by commas in the environment."""


class AuthSettings(Settings):
    """Settings of authentication, from environment variables with the prefix AUTH_.

    - `issuers`: file with the issuers of tokens (`issuers.py`)
    - `sign_in_url`: path or URL at which people sign in with an identity provider, linked on the sign-in page
    - `keys_url`: URL of the reporting service, whose API keys the other services accept
    - `cors_origins`: comma-separated web origins that may call the HTTP API from a browser with their own tokens
    """

    model_config = SettingsConfigDict(env_prefix="AUTH_")

    issuers: Path | None = None
    sign_in_url: str | None = Field(default=None, pattern=r"^(/|https?://)[^\x00-\x20]*$")
    keys_url: str | None = Field(default=None, pattern=_ADDRESS)
    cors_origins: Names = ()

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _split(cls, names: object) -> object:
        return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else names

    @field_validator("cors_origins")
    @classmethod
    def _are_named(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if "*" in origins:
            raise ValueError("name the sites: * would admit every web page")
        return origins


def issuers_of(settings: AuthSettings) -> list[Authenticator]:
    """Return the authenticators for the tokens of the configured issuers. Raises StartError for an invalid file."""
    if settings.issuers is None:
        return []
    # Signature verification takes nine megabytes of memory, so only a service with an issuer imports it.
    from servicekit.web.issuers import IssuersFile
    from servicekit.web.tokens import TokenAuthenticator

    return [TokenAuthenticator(issuer, SystemClock()) for issuer in IssuersFile.read(settings.issuers).issuer]


def remote_keys(settings: AuthSettings) -> list[RemoteKeys]:
    """Return a list with the authenticator for the reporting service's keys, or an empty list without `keys_url`."""
    if settings.keys_url is None:
        return []
    from servicekit.web.remote_keys import RemoteKeys

    return [RemoteKeys(settings.keys_url, SystemClock())]


def access_token(token: str) -> AccessToken:
    """Return an authenticator for the access token `token`. Raises StartError if the token is too short."""
    if len(token) < TOKEN_LENGTH:
        raise StartError(
            f"The access token (AGENT_FEEDBACK_TOKEN) is shorter than {TOKEN_LENGTH} characters: "
            "make one with `openssl rand -hex 24`."
        )
    return AccessToken(token)


def authenticator_for(settings: AuthSettings, token: str | None) -> Authenticator:
    """Return the authenticator for the issuers' tokens or the access token; for neither if only `keys_url` is set.

    Raises:
        StartError: If both are configured, because a forgotten access token would bypass the issuers. Also if there
            are no issuers, no access token and no `keys_url`.
    """
    issuers = issuers_of(settings)
    if issuers and token:
        raise StartError("Set either AUTH_ISSUERS or AGENT_FEEDBACK_TOKEN, not both.")
    if not issuers and not token and settings.keys_url is None:
        raise StartError("Set AUTH_ISSUERS, or AGENT_FEEDBACK_TOKEN, or AUTH_KEYS_URL.")
    return access_token(token) if token else AnyOf(*issuers)
