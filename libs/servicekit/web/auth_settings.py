"""Settings of authentication (`AUTH_*`), and factories for the authenticators they configure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from contracts.base import Name
from servicekit.clock import SystemClock
from servicekit.errors import StartError
from servicekit.settings import Settings
from servicekit.web.auth import AccessToken, AnyOf, Authenticator

if TYPE_CHECKING:
    from servicekit.web.remote_accounts import RemoteAccounts

TOKEN_LENGTH = 16
"""Minimum length of an access token, in characters."""
_ADDRESS = r"^https?://[^\x00-\x20]+$"
Names = Annotated[tuple[str, ...], NoDecode]
"""List, separated by commas in the environment."""


def _split(names: object) -> object:
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else names


class AuthSettings(Settings):
    """Settings of authentication, from environment variables with the prefix AUTH_.

    `issuer`, `audience` and `jwks_url` must be set together or not at all.

    A token of the issuer is valid for all tenants if its tenant is `all_tenants` and its project is `*`. If
    `all_tenants` is not set, no token of the issuer is valid for all tenants.

    `accounts_url` is the URL of the reporting service. If it is set, the other services accept the sessions and keys
    that the reporting service has issued.

    `algorithms` and `cors_origins` are comma-separated lists. `cors_origins` contains the web origins that may call the
    HTTP API from a browser with their own tokens; by default, it is empty.
    """

    model_config = SettingsConfigDict(env_prefix="AUTH_")

    issuer: str | None = None
    audience: str | None = None
    jwks_url: str | None = Field(default=None, pattern=_ADDRESS)
    algorithms: Names = ("RS256", "ES256")
    leeway_seconds: float = Field(default=30, ge=0, le=300)
    subject_claim: str = "sub"
    tenant_claim: str = "tenant"
    project_claim: str = "project"
    scope_claim: str = "scope"
    all_tenants: Name | None = None
    accounts_url: str | None = Field(default=None, pattern=_ADDRESS)
    cors_origins: Names = ()

    _algorithms = field_validator("algorithms", mode="before")(_split)
    _origins = field_validator("cors_origins", mode="before")(_split)

    @field_validator("cors_origins")
    @classmethod
    def _are_named(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if "*" in origins:
            raise ValueError("name the sites: * would admit every web page")
        return origins

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        given = {"AUTH_ISSUER": self.issuer, "AUTH_AUDIENCE": self.audience, "AUTH_JWKS_URL": self.jwks_url}
        missing = [name for name, value in given.items() if value is None]
        if 0 < len(missing) < len(given):
            raise ValueError(f"{' and '.join(missing)} must be set, too: {', '.join(given)} belong together")
        return self


def issuer_of(settings: AuthSettings) -> Authenticator | None:
    """Return the authenticator for tokens of the configured issuer, or None if no issuer is configured."""
    if settings.issuer is None or settings.audience is None or settings.jwks_url is None:
        return None
    # Signature verification takes nine megabytes of memory, so only a service with an issuer imports it.
    from servicekit.web.jwks import KeySet
    from servicekit.web.jwt import Claims, JwtAuthenticator

    return JwtAuthenticator(
        KeySet(settings.jwks_url, SystemClock()),
        issuer=settings.issuer,
        audience=settings.audience,
        algorithms=settings.algorithms,
        leeway=settings.leeway_seconds,
        claims=Claims(
            settings.subject_claim,
            settings.tenant_claim,
            settings.project_claim,
            settings.scope_claim,
            settings.all_tenants,
        ),
    )


def remote_accounts(settings: AuthSettings) -> list[RemoteAccounts]:
    """Return the authenticator for the reporting service's sessions and keys, in a list.

    The list is empty if `accounts_url` is not set.
    """
    if settings.accounts_url is None:
        return []
    from servicekit.web.remote_accounts import RemoteAccounts

    return [RemoteAccounts(settings.accounts_url, SystemClock())]


def access_token(token: str) -> AccessToken:
    """Return an authenticator for the access token `token`. Raises StartError if the token is too short."""
    if len(token) < TOKEN_LENGTH:
        raise StartError(
            f"The access token (AGENT_FEEDBACK_TOKEN or --token) is shorter than {TOKEN_LENGTH} characters: "
            "make one with `openssl rand -hex 24`."
        )
    return AccessToken(token)


def authenticator_for(settings: AuthSettings, token: str | None) -> Authenticator:
    """Return the authenticator for the configured issuer's tokens or, without an issuer, for the access token.

    Raises:
        StartError: If both are configured, because a forgotten access token would bypass the issuer. Also if there is
            no issuer, no access token and no `accounts_url`.
    """
    issuer = issuer_of(settings)
    if issuer is None:
        if not token and settings.accounts_url is None:
            raise StartError(
                "Set AUTH_ISSUER, AUTH_AUDIENCE and AUTH_JWKS_URL, or AGENT_FEEDBACK_TOKEN, or AUTH_ACCOUNTS_URL."
            )
        return access_token(token) if token else AnyOf()
    if token:
        raise StartError("Set either AUTH_ISSUER or AGENT_FEEDBACK_TOKEN, not both.")
    return issuer
