"""PostgreSQL versions that row-level security distinguishes."""

from __future__ import annotations

import pytest

from servicekit.db.row_security import _privilege_to_switch
from servicekit.errors import StartError


@pytest.mark.parametrize(
    ("version", "privilege"), [(150_000, "member"), (159_999, "member"), (160_000, "set"), (170_000, "set")]
)
def test_postgres_16_needs_the_option_set(version: int, privilege: str) -> None:
    assert _privilege_to_switch(version) == privilege


def test_views_before_postgres_15_would_bypass_the_policies() -> None:
    with pytest.raises(StartError, match="15 or later"):
        _privilege_to_switch(149_999)
