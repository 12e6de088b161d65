"""Pseudonyms of erased people: off by default, and dependent on a key."""

from __future__ import annotations

import pytest

from contracts.erasure import Person
from servicekit.errors import StartError
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from servicekit.settings import read_settings

EVE = Person("acme", "eve@example.org")
KEY = "sixteen letters!"


def name_of(person: Person, **settings: object) -> str:
    return Pseudonyms(read_settings(ErasureSettings, **settings))(person)


def test_ids_are_kept_unless_pseudonyms_are_asked_for() -> None:
    assert name_of(EVE) == EVE.user_id
    assert name_of(EVE, ids_of={"globex": "pseudonym"}, key=KEY) == EVE.user_id
    assert name_of(EVE, ids="pseudonym", ids_of={"acme": "keep"}, key=KEY) == EVE.user_id


def test_a_pseudonym_depends_on_the_key_the_tenant_and_the_person() -> None:
    named = [
        name_of(EVE, ids="pseudonym", key=KEY),
        name_of(EVE, ids="pseudonym", key=KEY + "?"),
        name_of(Person("globex", EVE.user_id), ids="pseudonym", key=KEY),
        name_of(Person("acme", "eve"), ids="pseudonym", key=KEY),
    ]
    assert len({*named}) == len(named)
    assert all(name.startswith("erased-") and len(name) == 39 and "eve" not in name for name in named)
    assert name_of(EVE, ids_of={"acme": "pseudonym"}, key=KEY) == named[0]


@pytest.mark.parametrize("settings", [{"ids": "pseudonym"}, {"ids_of": {"acme": "pseudonym"}, "key": KEY[1:]}])
def test_pseudonyms_need_a_key(settings: dict[str, object]) -> None:
    with pytest.raises(StartError, match="ERASURE_KEY must have at least 16 characters"):
        read_settings(ErasureSettings, **settings)
