"""Pseudonyms of erased people, for rows that must stay although they contain a person's id. Off by default."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from contracts.erasure import Person
from contracts.ids import canonical
from servicekit.settings import Settings

Ids = Literal["keep", "pseudonym"]
PREFIX: Final = "erased-"
_KEY_LENGTH: Final = 16


class ErasureSettings(Settings):
    """Settings from the environment with the prefix ERASURE_, the same for all services.

    `ids` selects the id that remaining rows have after an erasure: the person's own id or a pseudonym. `ids_of`
    overrides it for single tenants. Pseudonyms need `key`, a secret of at least 16 characters. Anyone who has the key
    can compute the pseudonym of any id.
    """

    model_config = SettingsConfigDict(env_prefix="ERASURE_")

    ids: Ids = "keep"
    ids_of: dict[str, Ids] = Field(default_factory=dict)
    key: SecretStr = SecretStr("")

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        wanted = "pseudonym" in (self.ids, *self.ids_of.values())
        if wanted and len(self.key.get_secret_value()) < _KEY_LENGTH:
            raise ValueError(f"ERASURE_KEY must have at least {_KEY_LENGTH} characters if ids become pseudonyms")
        return self


class Pseudonyms:
    """Replacements for erased people's ids. With the same key, a person always has the same pseudonym."""

    def __init__(self, settings: ErasureSettings) -> None:
        self._ids: Ids = settings.ids
        self._ids_of: Mapping[str, Ids] = settings.ids_of
        self._key = settings.key.get_secret_value().encode()

    def __call__(self, person: Person) -> str:
        """Return the person's pseudonym, or their own id if the tenant has no pseudonyms."""
        if self._ids_of.get(person.tenant, self._ids) == "keep":
            return person.user_id
        return PREFIX + hmac.digest(self._key, canonical(*person).encode(), "sha256").hex()[:32]
