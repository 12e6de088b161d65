"""Addresses in messages for operators contain no credentials."""

from __future__ import annotations

import pytest

from servicekit.errors import StartError, shown


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql://ann:s3cret@host/db", "postgresql://host/db"),
        ("postgresql://ann:s3/cret@host/db", "postgresql://host/db"),
        ("postgresql://ann:s3@cret@host/db", "postgresql://host/db"),
        ("postgres:s3cret@host/db", "host/db"),
        ("postgresql://host/db?password=s3cret", "postgresql://host/db"),
        ("mongodb://a:s3cret@one,two/db?x=1", "mongodb://one,two/db"),
    ],
)
def test_no_credentials_are_shown(address: str, expected: str) -> None:
    assert shown(f"At {address} nobody answers.") == f"At {expected} nobody answers."
    assert "s3" not in str(StartError(f"{address} is not an address of PostgreSQL."))
