"""A cursor comes back as it went out, and nothing else comes back."""

from __future__ import annotations

import base64

import pytest

from reporting.cursor import BadCursor, Cursor, decode, encode


def test_there_and_back():
    cursor = Cursor(1_790_000_000_000_000, "c/1 \U0001f600", "731:735:731,733")
    assert decode(encode(cursor)) == cursor


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"null",
        b"[]",
        b'[1,"c"]',
        b'[1,"c","1:1:",2]',
        b'["1","c","1:1:"]',
        b'[-1,"c","1:1:"]',
        b'[9223372036854775808,"c","1:1:"]',
        b'[1.5,"c","1:1:"]',
        b'[1,"","1:1:"]',
        b'[1,"\\u0000","1:1:"]',
        b'[1,"\\ud800","1:1:"]',
        b'[1,"c","now"]',
        b'[1,"c","1:1:\\n"]',
        b"[" * 2_000,
        b"\xff",
    ],
)
def test_anything_else_is_refused(inside):
    with pytest.raises(BadCursor):
        decode(base64.urlsafe_b64encode(inside).decode())


@pytest.mark.parametrize("text", ["%%%", "é", "a", "====", "W10"])
def test_what_is_not_base64_is_refused(text):
    with pytest.raises(BadCursor):
        decode(text)
