"""The statement that a planted bug changes is still the one that the service runs."""

from __future__ import annotations

from feedback.sql import SQL
from proofs.chaos.planted import without_guard


def test_the_write_without_a_guard_takes_the_same_values() -> None:
    guarded = SQL.save_records
    bare = without_guard(guarded)
    assert "stored.revision = given.loaded_revision" in guarded.definition
    assert "stored.revision = given.loaded_revision" not in bare.definition and "do update" in bare.definition
    assert bare.text != guarded.text  # another function, so that both can exist
    assert bare.values == guarded.values
