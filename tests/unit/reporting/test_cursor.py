"""A cursor is decoded to its content, and any other text is rejected."""

from __future__ import annotations

import base64

import pytest

from reporting.model.cursor import TIMED, BadCursor, decode, encode, question

ASKED = question("listing", "acme", 1)


def test_there_and_back() -> None:
    position = (1_790_000_000_000_000, "c/1 \U0001f600", "7.0000000A/731:735:731,733")
    assert decode(encode(ASKED, position), ASKED, TIMED) == position


def test_a_cursor_of_another_question_is_refused() -> None:
    cursor = encode(question("listing", "acme", 2), (1, "c", "7.1/1:1:"))
    with pytest.raises(BadCursor):
        decode(cursor, ASKED, TIMED)


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"null",
        b"[]",
        b'[1,"c"]',
        b'[1,"c","7.1/1:1:",2]',
        b'["1","c","7.1/1:1:"]',
        b'[-1,"c","7.1/1:1:"]',
        b'[9223372036854775808,"c","7.1/1:1:"]',
        b'[1.5,"c","7.1/1:1:"]',
        b'[1,"","7.1/1:1:"]',
        b'[1,"\\u0000","7.1/1:1:"]',
        b'[1,"\\ud800","7.1/1:1:"]',
        b'[1,"c","now"]',
        b'[1,"c","7.1/1:1:\\n"]',
        b"[" * 2_000,
        b"\xff",
    ],
)
def test_anything_else_is_refused(inside: bytes) -> None:
    with pytest.raises(BadCursor):
        decode(base64.urlsafe_b64encode(inside.replace(b"[", b'["' + ASKED.encode() + b'",', 1)).decode(), ASKED, TIMED)


@pytest.mark.parametrize("text", ["%%%", "é", "a", "====", "W10"])
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        decode(text, ASKED, TIMED)
