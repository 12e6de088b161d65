"""Headers that other producers wrote: bytes of any kind, repeated or missing."""

from __future__ import annotations

import pytest

from contracts.headers import REVISION, Headers, header, revision_named


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ([], None),
        ([("other", b"x")], None),
        ([("name", b"")], ""),
        ([("other", b"x"), ("name", b"a"), ("name", b"b")], "a"),
        ([("name", None), ("name", b"b")], "b"),
        ([("name", b"\xff"), ("name", b"b")], None),
        ([("name", "é".encode())], None),
    ],
)
def test_the_first_header_of_a_name_counts(headers: Headers, text: str | None) -> None:
    assert header(headers, "name") == text


@pytest.mark.parametrize(
    ("named", "revision"),
    [
        (b"7", 7),
        (b"0", 0),
        (b"9" * 18, 10**18 - 1),
        (b"9" * 19, None),
        (b"0" * 18 + b"1", None),
        (b"9" * 10_000, None),
        (b"", None),
        (b"-1", None),
        (b"1.0", None),
        (b" 1", None),
        ("²".encode(), None),
    ],
)
def test_a_revision_has_at_most_18_digits(named: bytes, revision: int | None) -> None:
    assert revision_named([(REVISION, named)]) == revision
    assert revision_named([]) is None
