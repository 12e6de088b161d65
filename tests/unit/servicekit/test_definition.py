"""A service built from its definition: the erasing handlers, the producer of receipts, and optional parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts.erasure import ErasedAt
from contracts.feedback import FeedbackErasureRequested
from contracts.topics import Consumer
from servicekit.definition import Every, Keeps, Reads, ServiceDefinition
from servicekit.log.erasing import ErasingHandler
from servicekit.log.handler import Handler
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received, read
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.web.auth import Caller
from servicekit.web.permissions import Need, need_of
from tests.support.logs import RecordingLog, example, raw
from tests.support.unit_handlers import NoWork

REQUEST = "feedback.erasure.requested"


class Counting(NoWork):
    async def handle(self, batch: Sequence[Received[Any]]) -> Sequence[Outcome]:
        return [Outcome.STORED] * len(batch)


class EmptyTables:
    async def fetch(self, *_: object) -> list[object]:
        return []


async def no_rows(erased: ErasedAt) -> int:
    return 0


@dataclass
class SomeSettings:
    endpoint: str = ""
    seconds: float = 7
    days: float = 30


@dataclass
class Parts:
    receipts: RecordingLog = field(default_factory=RecordingLog)
    pool: object = field(default_factory=EmptyTables)

    def counting(self) -> Counting:
        return Counting()


@dataclass
class Built:
    """Handlers by group, and periodic tasks, of a service that was built and not started."""

    parts: Parts
    handlers: dict[str, Handler]
    periodics: list[Periodic]


async def built(monkeypatch: pytest.MonkeyPatch, settings: SomeSettings, **lines: Any) -> Built:
    result = Built(Parts(), {}, [])
    monkeypatch.setattr(Service, "consume", lambda _, group, handler: result.handlers.update({group: handler}))
    monkeypatch.setattr(Service, "every", lambda _, periodic: result.periodics.append(periodic))

    async def opens(_: SomeSettings, __: Service) -> Parts:
        return result.parts

    definition: ServiceDefinition[Parts] = ServiceDefinition(
        "reporting", SomeSettings, opens, "nothing", lambda _: no_rows, lambda parts: parts.receipts, **lines
    )
    await definition.build(settings, ServiceContext("localhost:1"))
    return result


async def test_every_group_confirms_erasures_by_the_producer_of_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another group of the same service must not overtake receipts that wait for an object store."""
    groups: tuple[Consumer, ...] = ("reporting", "webhooks")
    service = await built(monkeypatch, SomeSettings(), reads=[Reads(group, Parts.counting) for group in groups])
    request = read(raw(REQUEST, example(REQUEST, "erasure")), {REQUEST: FeedbackErasureRequested})
    for count, group in enumerate(groups, start=1):
        await service.handlers[group].handle([request])
        assert len(service.parts.receipts.messages) == count, group


async def test_a_handler_is_wrapped_only_if_its_group_reads_erasures_that_it_leaves_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads = [
        Reads("reporting", Parts.counting),
        Reads("inference_status", Parts.counting),
        Reads("feedback", Parts.counting, erases_itself=True),
    ]
    handlers = (await built(monkeypatch, SomeSettings(), reads=reads)).handlers
    assert {group: type(one) for group, one in handlers.items()} == {
        "reporting": ErasingHandler,
        "inference_status": Counting,
        "feedback": Counting,
    }


async def test_a_line_whose_setting_is_not_set_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None: ...

    lines: dict[str, Any] = {
        "reads": [Reads("webhooks", Parts.counting, if_set="endpoint")],
        "every": [
            Every("courier", "seconds", lambda _: {"a": work, "b": work}, if_set="endpoint"),
            Every("sweep", 5, lambda _: work),
        ],
    }
    without = await built(monkeypatch, SomeSettings(), **lines)
    assert (list(without.handlers), [(one.name, one.seconds) for one in without.periodics]) == ([], [("sweep", 5)])
    with_it = await built(monkeypatch, SomeSettings("https://hooks.example"), **lines)
    assert list(with_it.handlers) == ["webhooks"]
    assert [(one.name, one.seconds) for one in with_it.periodics] == [("courier a", 7), ("courier b", 7), ("sweep", 5)]


def test_a_line_names_its_handler_by_the_function_that_makes_it() -> None:
    assert Reads("reporting", Parts.counting).kind is Counting


def test_an_expiry_compares_times_in_the_unit_of_its_column() -> None:
    condition = Keeps("t", "days", "at", "milliseconds", only="r.gone < {moment}").expiry(SomeSettings()).condition
    assert condition == "r.at < $1::bigint / 1000 and r.gone < to_timestamp($1::bigint / 1e6)"


@pytest.mark.parametrize("access", ["reed", "", (), ("read", "reed"), "no tokens"])
def test_a_route_that_names_no_scope_is_rejected(access: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="is neither a scope nor"):
        need_of(access)


@pytest.mark.parametrize(
    ("access", "need"),
    [
        ("read", Need(scopes=frozenset({"read"}))),
        (("read", "detect"), Need(scopes=frozenset({"read", "detect"}))),
        ("any token", Need()),
        ("no token", Need(public=True)),
    ],
)
def test_a_route_needs_what_its_line_says(access: str | tuple[str, ...], need: Need) -> None:
    assert need_of(access) == need


@pytest.mark.parametrize(("scopes", "is_refused"), [("read", False), ("detect", False), ("review", True), ("", True)])
def test_one_of_alternative_scopes_suffices(scopes: str, is_refused: bool) -> None:
    caller = Caller("ann", scopes=frozenset(scopes.split()))
    refusal = need_of(("read", "detect")).refusal(caller, {})
    assert refusal == ("This needs a token with the scope detect or read." if is_refused else None)
