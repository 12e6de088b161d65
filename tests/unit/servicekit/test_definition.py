"""A service built from its definition: erasing handlers, retention, routes and periodic work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from contracts.erasure import ErasedAt
from contracts.feedback import FeedbackErasureRequested
from servicekit.definition import Keeps
from servicekit.log.outcome import Outcome
from servicekit.log.records import Received, read
from servicekit.service import Service, ServiceContext
from servicekit.web.auth import Caller
from servicekit.web.guard import need_of
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
    days: float = 30


@dataclass
class Parts:
    pool: Any = field(default_factory=EmptyTables)


async def test_an_erasing_handler_confirms_by_the_producer_of_receipts() -> None:
    """Receipts that wait for an object store must not be overtaken by the service's own producer."""
    service, receipts, tables = Service("reporting", ServiceContext("localhost:1")), RecordingLog(), Parts().pool
    request: Any = read(raw(REQUEST, example(REQUEST, "erasure")), {REQUEST: FeedbackErasureRequested})
    await service.erasing(Counting(), tables, no_rows, receipts).handle([request])
    assert len(receipts.messages) == 1


def test_an_expiry_compares_times_in_the_unit_of_its_column() -> None:
    condition = Keeps("t", "days", "at", "milliseconds", only="r.gone < {moment}").expiry(SomeSettings()).condition
    assert condition == "r.at < $1::bigint / 1000 and r.gone < to_timestamp($1::bigint / 1e6)"


@pytest.mark.parametrize("access", ["reed", "", (), ("read", "reed"), "no tokens"])
def test_a_route_that_names_no_scope_is_rejected(access: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="is neither a scope nor"):
        need_of(access)


@pytest.mark.parametrize(("scopes", "is_refused"), [("read", False), ("detect", False), ("review", True), ("", True)])
def test_one_of_alternative_scopes_suffices(scopes: str, is_refused: bool) -> None:
    caller = Caller("ann", scopes=frozenset(scopes.split()))
    refusal = need_of(("read", "detect")).refusal(caller, {})
    assert refusal == ("This needs a token with the scope detect or read." if is_refused else None)
