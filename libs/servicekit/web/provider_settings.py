"""Types for sign-in with an OpenID provider, separate from the client module, which imports large libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ProviderSettings(Protocol):
    """Registration of this program with an OpenID provider."""

    @property
    def label(self) -> str:
        """Name of the provider on pages."""
        ...

    @property
    def issuer(self) -> str: ...

    @property
    def client_id(self) -> str: ...

    @property
    def client_secret(self) -> str: ...

    @property
    def scopes(self) -> str:
        """Scopes to request, separated by spaces."""
        ...

    @property
    def address(self) -> str:
        """Base URL of the pages, without a slash at its end."""
        ...


@dataclass(frozen=True, slots=True)
class SignInSecrets:
    """Random values of one sign-in: `state` and `nonce` bind it to the browser, `verifier` is the secret of PKCE."""

    state: str
    nonce: str
    verifier: str
