"""Types for sign-in with an OpenID provider.

The client is in a separate module, because it imports large libraries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ProviderSettings(Protocol):
    """Registration of this program as a client of an OpenID provider."""

    @property
    def label(self) -> str:
        """Name of the provider, as shown on pages."""
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
        """Base URL of this program's pages, without a trailing slash."""
        ...


@dataclass(frozen=True, slots=True)
class SignInSecrets:
    """Random values of a sign-in: `state` and `nonce` bind it to the browser, and `verifier` is the PKCE secret."""

    state: str
    nonce: str
    verifier: str
