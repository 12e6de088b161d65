"""Rows of a person's data, as they are handed out."""

from __future__ import annotations

from contracts.instants import LAST, parse_instant
from standalone.subject_access.own_parts import readable


def test_times_of_a_row_are_dates_and_all_else_is_unchanged() -> None:
    noon = parse_instant("2026-09-21T12:00:00Z")
    rest = {"asked_at": None, "window_start": 7, "late_at": LAST + 1, "is_at": True, "size": noon, "text_at": "soon"}
    assert readable({"at": noon, "log_time": noon, **rest}) == {
        "at": "2026-09-21T12:00:00.000000Z",
        "log_time": "2026-09-21T12:00:00.000000Z",
        **rest,
    }
