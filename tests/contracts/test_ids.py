"""Ids equal those computed with Python's `json` and `uuid`."""

from __future__ import annotations

import json
import uuid

from hypothesis import given
from hypothesis import strategies as st

from contracts.ids import canonical, uuid5

TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.lists(st.one_of(TEXTS, st.integers())))
def test_the_canonical_form_is_the_json_array_without_blanks(parts: list[str | int]) -> None:
    assert canonical(*parts) == json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


@given(st.uuids(), TEXTS)
def test_a_uuid5_is_the_one_of_the_standard_library(namespace: uuid.UUID, name: str) -> None:
    assert uuid5(namespace, name) == uuid.uuid5(namespace, name)
