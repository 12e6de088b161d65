"""The log time in the header of a replayed record, and the conditions under which it is believed."""

from __future__ import annotations

import pytest
from aiokafka import ConsumerRecord

from contracts.headers import LOG_TIME
from servicekit.log.fetch import LOG_APPEND_TIME, raw_record

MILLISECONDS = 1_790_000_000_000
OWN = MILLISECONDS * 1_000


def fetched(*claims: bytes | None, timestamp_type: int = LOG_APPEND_TIME) -> ConsumerRecord:
    headers = tuple((LOG_TIME, claim) for claim in claims)
    return ConsumerRecord("t", 0, 3, MILLISECONDS, timestamp_type, None, b"{}", None, 0, 2, headers)


def test_an_earlier_time_is_believed_and_changes_no_other() -> None:
    raw = raw_record(fetched(str(OWN - 1).encode()), now=5)
    assert (raw.first_log_time, raw.log_time) == (OWN - 1, OWN)


@pytest.mark.parametrize(
    "claim", [None, b"-5", b"\xff", b"9" * 19, b"0" * 18 + b"1", str(OWN).encode(), str(OWN + 1).encode()]
)
def test_any_other_claim_is_passed_over(claim: bytes | None) -> None:
    raw = raw_record(fetched(claim), now=5)
    assert (raw.first_log_time, raw.replay_of) == (OWN, None)


def test_a_claim_may_have_18_digits() -> None:
    assert raw_record(fetched(b"0" * 17 + b"1"), now=5).first_log_time == 1


def test_without_a_time_of_the_logs_the_readers_counts() -> None:
    raw = raw_record(fetched(timestamp_type=0), now=7)
    assert (raw.first_log_time, raw.log_time, raw.log_timed) == (7, 7, False)
    assert raw_record(fetched(), now=7).log_timed
