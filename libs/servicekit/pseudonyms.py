"""Pseudonyms for the ids of erased people in rows that must remain after an erasure. Off by default."""

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
    """Settings of erasure for all services, from environment variables with the prefix ERASURE_.

    `ids` selects the id that stays in a person's remaining rows after an erasure: the person's own id or a pseudonym.
    `ids_of` overrides this setting for individual tenants. Pseudonyms require `key`, a secret of at least 16
    characters. Anyone who has the key can compute the pseudonym of any id.
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
    """Pseudonyms for the ids of erased people. With the same key, a person always gets the same pseudonym."""

    def __init__(self, settings: ErasureSettings) -> None:
        self._ids: Ids = settings.ids
        self._ids_of: Mapping[str, Ids] = settings.ids_of
        self._key = settings.key.get_secret_value().encode()

    def __call__(self, person: Person) -> str:
        """Return the person's pseudonym, or the person's own id if the tenant does not use pseudonyms."""
        if self._ids_of.get(person.tenant, self._ids) == "keep":
            return person.user_id
        return PREFIX + hmac.digest(self._key, canonical(*person).encode(), "sha256").hex()[:32]
