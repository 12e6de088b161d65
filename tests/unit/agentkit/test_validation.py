"""The first place at which a response violates its type; later platforms may add fields and values."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import pytest

from agent_feedback_kit.client.validation import first_mismatch


class Row(TypedDict):
    name: str
    share: float
    kind: NotRequired[Literal["a", "b"]]
    count: NotRequired[int | None]
    parts: NotRequired[list[str]]
    facts: NotRequired[dict[str, Any]]
    inner: NotRequired[Row]


WHOLE = {"name": "x", "share": 0.5}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (WHOLE, None),
        (WHOLE | {"later": object()}, None),
        ([WHOLE], "no object"),
        (None, "no object"),
        ({"share": 0.5}, "name"),
        (WHOLE | {"name": 7}, "name"),
        (WHOLE | {"name": None}, "name"),
        (WHOLE | {"share": 1}, None),
        (WHOLE | {"share": True}, "share"),
        (WHOLE | {"share": float("nan")}, "share"),
        (WHOLE | {"share": float("inf")}, "share"),
        (WHOLE | {"share": float("-inf")}, "share"),
        (WHOLE | {"share": "0.5"}, "share"),
        (WHOLE | {"kind": "a"}, None),
        (WHOLE | {"kind": "later"}, None),
        (WHOLE | {"kind": 1}, "kind"),
        (WHOLE | {"kind": None}, "kind"),
        (WHOLE | {"count": 1}, None),
        (WHOLE | {"count": None}, None),
        (WHOLE | {"count": 1.5}, "count"),
        (WHOLE | {"count": True}, "count"),
        (WHOLE | {"parts": []}, None),
        (WHOLE | {"parts": ["a", "b"]}, None),
        (WHOLE | {"parts": ["a", 2, None]}, "parts.1"),
        (WHOLE | {"parts": {"0": "a"}}, "parts"),
        (WHOLE | {"facts": {"any": 1}}, None),
        (WHOLE | {"facts": []}, "facts"),
        (WHOLE | {"inner": WHOLE}, None),
        (WHOLE | {"inner": {"name": "x"}}, "inner.share"),
        (WHOLE | {"inner": 7}, "inner"),
    ],
)
def test_the_first_mismatch_is_a_dotted_path(value: Any, place: str | None) -> None:
    assert first_mismatch(value, Row) == place
