"""Retries of a failed call: how many, after which delay, and for which responses."""

from __future__ import annotations

import pytest

import agent_feedback_kit as kit
from agent_feedback_kit.client.retrying import refusal_of

UNREACHABLE = kit.Unreachable("no answer")
POLICY = kit.Retries(tries=6, first_wait=1.0, longest_wait=5.0)


def refused(status: int, retry_after: str | None = None) -> kit.AgentFeedbackError:
    return refusal_of(status, {} if retry_after is None else {"retry-after": retry_after}, b"{}")


@pytest.mark.parametrize(("tried", "longest"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (5, 5.0)])
def test_delays_double_up_to_the_longest_with_jitter(tried: int, longest: float) -> None:
    delays = [POLICY.wait(tried, UNREACHABLE, 100.0) or 0.0 for _ in range(200)]
    assert longest / 2 <= min(delays) and max(delays) <= longest
    assert max(delays) - min(delays) > longest / 4


def test_the_last_try_is_followed_by_none() -> None:
    assert POLICY.wait(6, UNREACHABLE, 100.0) is None
    assert kit.Retries(tries=1).wait(1, UNREACHABLE, 100.0) is None


@pytest.mark.parametrize(("status", "again"), [(429, True), (500, False), (502, True), (503, True), (504, True)])
def test_only_what_may_pass_is_tried_again(status: int, again: bool) -> None:
    assert (POLICY.wait(1, refused(status), 100.0) is not None) is again
    assert POLICY.wait(1, kit.UnexpectedAnswer("a page"), 100.0) is None


@pytest.mark.parametrize(("left", "wait"), [(7.1, 7.0), (7.0, None), (0.0, None), (-1.0, None)])
def test_no_delay_reaches_the_end_of_the_timeout(left: float, wait: float | None) -> None:
    assert POLICY.wait(1, refused(503, "7"), left) == wait


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("999999", 999_999.0), ("1000000", None), ("-1", None), ("1.5", None), ("", None), ("\u00b2", None),
     ("Wed, 21 Oct 2026 07:28:00 GMT", None), (None, None)],
)  # fmt: skip
def test_a_retry_after_is_a_number_of_seconds_below_a_million(header: str | None, seconds: float | None) -> None:
    error = refused(503, header)
    assert isinstance(error, kit.Busy)
    assert error.retry_after == seconds


@pytest.mark.parametrize(("status", "is_refusal"), [(199, False), (300, False), (399, False), (400, True), (599, True)])
def test_a_status_below_400_is_no_refusal(status: int, is_refusal: bool) -> None:
    assert isinstance(refused(status), kit.Refused) is is_refusal


@pytest.mark.parametrize(
    ("body", "detail"),
    [(b'{"detail": "' + b"x" * 501 + b'"}', "x" * 500), (b'{"detail": 7}', "refused without a reason"),
     (b"<html>", "refused without a reason"), (b"[]", "refused without a reason"), (b"7", "refused without a reason"),
     (b"[" * 100_000, "refused without a reason")],
)  # fmt: skip
def test_a_reason_is_a_text_of_500_characters_at_most(body: bytes, detail: str) -> None:
    error = refusal_of(403, {}, body)
    assert isinstance(error, kit.Refused)
    assert error.detail == detail
