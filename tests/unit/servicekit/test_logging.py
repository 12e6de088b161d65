"""Log lines of the Kafka libraries are kept, limited in rate, and contain no user text."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, GroupCoordinatorNotAvailableError

from contracts.headers import trace_of
from servicekit.clock import StageTimes
from servicekit.log.handler import Slot
from servicekit.log.records import Coordinates, RawRecord
from servicekit.logging import REPEAT_SECONDS, RateLimit, _BareFormatter
from servicekit.otlp import Traces
from tests.support.hand_clock import HandClock


def record(message: str, *arguments: object, name: str = "aiokafka.consumer", line: int = 7) -> logging.LogRecord:
    return logging.LogRecord(name, logging.WARNING, "group_coordinator.py", line, message, arguments, None)


def test_a_warning_is_let_through_once_a_minute_for_each_place() -> None:
    clock = HandClock()
    limit = RateLimit(clock.monotonic)
    assert [limit.filter(record("down")), limit.filter(record("down")), limit.filter(record("x", line=8))] == [
        True,
        False,
        True,
    ]
    clock.forward(REPEAT_SECONDS)
    again = record("down")
    assert limit.filter(again)
    assert json.loads(_BareFormatter().format(again))["held_back"] == 1


def test_our_own_lines_and_other_libraries_are_left_alone() -> None:
    limit = RateLimit(HandClock().monotonic)
    assert all(limit.filter(record("again", name="asyncpg")) for _ in range(3))


def test_what_is_meant_to_be_so_is_no_warning() -> None:
    line = record("Auto create topics is disabled. Make sure the topics exist.", name="faststream")
    assert not RateLimit().filter(line)
    assert not RateLimit().filter(record("Heartbeat failed for group %s because it is rebalancing", "feedback"))
    assert not RateLimit().filter(record("Group Coordinator Request failed: %s", GroupCoordinatorNotAvailableError()))


@pytest.mark.parametrize(
    ("message", "arguments", "shown"),
    [
        ("Not authorized to read from topic %s.", ("chat.message.ingested",), None),
        ("Group %s: %s", ("feedback", GroupAuthorizationFailedError("secret")), "Group feedback: GroupAuthor"),
        ("at %s", (TopicPartition("a.b", 3),), "at a.b:3"),
        ("Got %r", ("what Ann wrote",), "Got 'str'"),
        ("code %d of %s", (7,), "code %d of %s"),
    ],
)
def test_names_and_numbers_are_logged_and_nothing_else(
    message: str, arguments: tuple[object], shown: str | None
) -> None:
    line = json.loads(_BareFormatter().format(record(message, *arguments)))
    assert line["message"].startswith(shown or message % arguments)
    assert "secret" not in line["message"]


def test_an_error_of_faststream_names_the_class() -> None:
    try:
        raise GroupAuthorizationFailedError("what Ann wrote")
    except GroupAuthorizationFailedError:
        line = record("Kafka error occurred", name="faststream")
        line.exc_info = sys.exc_info()
    written = json.loads(_BareFormatter().format(line))
    assert (written["error"], written["message"]) == ("GroupAuthorizationFailedError", "Kafka error occurred")


PROGRAM = """
import logging, sys
from servicekit.logging import configure_logging, logger
configure_logging(quiet=sys.argv[1] == "quiet")
names = ("servicekit", "asyncpg", "uvicorn.error", "aiokafka.client", "other.library")
for log in (logger("part"), *map(logging.getLogger, names)):
    log.debug("text")
    log.info("text")
    log.warning("text")
    log.error("text")
"""


@pytest.mark.parametrize(
    ("how", "own", "others", "kafka"),
    [
        ("usual", ["info", "warning", "error"], ["info", "warning", "error"], ["warning", "error"]),
        ("quiet", ["warning", "error"], ["warning", "error"], ["error"]),
    ],
)
def test_the_levels_that_are_logged(how: str, own: list[str], others: list[str], kafka: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, list[str]] = {}
    for line in map(json.loads, done.stderr.splitlines()):
        found.setdefault("own" if "part" in line else line["event"], []).append(line["level"])
    assert found == {"own": own, "servicekit": others, "other.library": others, "aiokafka.client": kafka}


# Sampling decisions of the traces, which are made before a span exists.

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


PRODUCER = "00f067aa0ba902b7"


def slot(traceparent: str | None) -> Slot:
    headers = [] if traceparent is None else [("traceparent", traceparent.encode())]
    return Slot(RawRecord(Coordinates("feedback.reaction.received", 3, 42), b"key", b"{}", headers, 0))


@pytest.mark.parametrize(
    ("traceparent", "sampled"),
    [
        (f"00-{TRACE}-{PRODUCER}-01", True),
        (f"00-{TRACE}-{PRODUCER}-03", True),
        (f"00-{TRACE}-{PRODUCER}-00", False),
        (f"00-{TRACE}-{PRODUCER}-02", False),
        (f"00-{'f' * 32}-{PRODUCER}-01", False),
        (f"00-{'f' * 16}{'0' * 15}1-{PRODUCER}-01", True),
        (f"00-{'0' * 32}-{PRODUCER}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
    ],
)
async def test_flag_and_low_half_of_the_trace_id_decide(traceparent: str, sampled: bool) -> None:
    traces = Traces("http://127.0.0.1:9/v1/traces", 0.75)
    batch = traces.of("feedback").begin("feedback", [slot(traceparent)])
    assert (batch is not None) is sampled
    if batch is not None:
        assert batch.trace_id == traceparent[3:35]
        batch.ended([], StageTimes())
    await traces.close()


async def test_a_record_without_a_trace_gets_that_of_its_batch_and_others_keep_theirs() -> None:
    traces = Traces("http://127.0.0.1:9/v1/traces", 1.0)
    foreign = f"00-{'e' * 32}-{PRODUCER}-01"
    slots = [slot(f"00-{TRACE}-{PRODUCER}-01"), slot(None), slot(foreign)]
    batch = traces.of("feedback").begin("feedback", slots)
    assert batch is not None and batch.trace_id == TRACE
    first, second, third = [trace_of(one.raw.headers) for one in slots]
    assert (first, third) == (f"00-{TRACE}-{PRODUCER}-01", foreign)
    assert second is not None and second[3:35] == TRACE and second[36:52] != PRODUCER
    batch.ended(slots, StageTimes())
    await traces.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_line_that_finds_no_space_is_lost_and_nothing_else() -> None:
    program = (
        "from servicekit.logging import configure_logging, logger\n"
        "configure_logging()\n"
        "logger('http').error('request_failed', id='1')\n"
        "print('answered', flush=True)\n"
        "import os; os._exit(0)\n"  # else Python reports the line that is still in the buffer
    )
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=full, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"answered\n")
