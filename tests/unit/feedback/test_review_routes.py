"""The route of reviews on an in-memory store: which verdicts may be reviewed, and what the forms may say."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import httpx
import pytest
from pydantic import ValidationError

from contracts.message_fields import TurnKey
from contracts.provenance import Provenance
from contracts.topics import EXPLICIT_RECEIVED
from feedback.api_reviews import _form, reviews_router
from feedback.handlers import FeedbackHandler
from feedback.model import Record
from feedback.registry import TurnAnswer, TurnFacts
from feedback.reward import DEFAULT_REWARDS
from feedback.submission import ExplicitIntake
from servicekit.web.application import add_routes, application, guarded
from tests.support.feedback_events import RecordingProducer, batch, explicit, inferred
from tests.support.feedback_memory import MemoryStore
from tests.support.hand_clock import FixedClock
from tests.support.linear import doubles
from tests.support.logs import NOW, RecordingLog
from tests.support.reporting_client import Tokens

ANSWER = TurnAnswer("a1", "bot", Provenance())
HOME = "/dashboard/conversation?"


class Answered:
    """Registry in which an agent has answered on every turn but those named t9."""

    async def find(self, key: TurnKey, user_id: str) -> TurnFacts:
        return TurnFacts(None if key.turn_id == "t9" else ANSWER)


class Progress:
    """Progress of a registry that has read everything, or nothing."""

    def __init__(self) -> None:
        self.passed = True

    async def poll_until_caught_up(self, look: Any) -> tuple[Any, bool]:
        return await look(), self.passed


class Service:
    """Route of reviews behind the guard, with its store, log and progress."""

    def __init__(self) -> None:
        self.store, self.log, self.progress = MemoryStore(), RecordingLog(), Progress()
        parts: Any = (Answered(), self.progress.poll_until_caught_up, self.log, FixedClock(NOW))
        app = application(_ready)
        add_routes(app, [reviews_router(ExplicitIntake(*parts, reference_time=None), self.store)])
        self._transport = httpx.ASGITransport(guarded(app, Tokens()))

    async def take(self, *events: Any) -> None:
        await FeedbackHandler(self.store, RecordingProducer(), DEFAULT_REWARDS).handle(batch(*events))

    async def records(self) -> list[Record]:
        return [record async for page in self.store.scan(10) for record in page]

    async def machine(self) -> UUID:
        [verdict] = [record.feedback_id for record in await self.records() if record.origin == "machine"]
        return verdict

    async def post(self, path: str = "acme/support/c1/turns/t1", **body: Any) -> httpx.Response:
        headers = {"Authorization": "Bearer all"}
        async with httpx.AsyncClient(transport=self._transport, base_url="http://feedback", headers=headers) as http:
            return await http.post(f"/conversations/{path}/reviews", **body)

    async def fill_in(self, *fields: tuple[str, str]) -> httpx.Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.post(content=urlencode(fields), headers=headers)

    @property
    def said(self) -> list[dict[str, Any]]:
        return self.log.values(EXPLICIT_RECEIVED.name)


async def _ready() -> None:
    return None


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("acme/support/c1/turns/t1", 202),
        ("acme/support/c1/turns/t2", 404),
        ("acme/support/c2/turns/t1", 404),
        ("acme/sales/c1/turns/t1", 404),
        ("globex/support/c1/turns/t1", 404),
    ],
)
async def test_a_verdict_is_reviewed_on_its_own_turn_only(service: Service, path: str, status: int) -> None:
    await service.take(inferred())
    verdict = str(await service.machine())
    answer = await service.post(path, json={"verdict": verdict, "reaction": "ok"})
    assert answer.status_code == status
    assert [event["reviews"] for event in service.said] == ([verdict] if status == 202 else [])


async def test_neither_a_verdict_that_the_machine_took_back_nor_a_persons_is_reviewed(service: Service) -> None:
    await service.take(inferred(), explicit("ok"))
    ids = {record.origin: str(record.feedback_id) for record in await service.records()}
    await service.take(inferred(None, evaluation=2, at=1))
    for verdict in (ids["machine"], ids["user"], str(uuid4())):
        answer = await service.post(json={"verdict": verdict, "reaction": "ok"})
        assert answer.status_code == 404
        assert "The machine has no such verdict on that turn." in answer.text
    assert service.said == []


@pytest.mark.parametrize(
    ("passed", "status", "why"),
    [
        (True, 404, "No agent has answered on that turn."),
        (False, 503, "That turn is not known yet; send the request again."),
    ],
)
async def test_a_turn_without_an_answer_is_not_reviewed(service: Service, passed: bool, status: int, why: str) -> None:
    service.progress.passed = passed
    answer = await service.post("acme/support/c1/turns/t9", json={"reaction": "ok"})
    assert answer.status_code == status
    assert why in answer.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("reaction", "ok"), ("text", ""), ("correction", "")], ("ok", None, None)),
        ([("reaction", "ok"), ("text", "Why"), ("correction", "At ten")], ("ok", "Why", "At ten")),
        ([("reaction", "none")], (None, None, None)),
        ([("reaction", "ok"), ("text", "none")], ("ok", "none", None)),
        ([("reaction", "ok"), ("reaction", "neutral")], ("neutral", None, None)),
    ],
)
async def test_a_form_says_what_its_last_filled_fields_say(
    service: Service, fields: list[tuple[str, str]], said: tuple[str | None, ...]
) -> None:
    answer = await service.fill_in(*fields)
    assert answer.status_code == 303
    [event] = service.said
    assert tuple(event.get(name) for name in ("reaction", "text", "correction")) == said


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("text", "Why")],
        [("reaction", "none"), ("verdict", "none")],
        [("reaction", "ok"), ("next", HOME), ("more", "1")],
        [("reaction", "ok")] * 11,
    ],
)
async def test_a_form_with_missing_wrong_or_too_many_fields_is_refused(
    service: Service, fields: list[tuple[str, str]]
) -> None:
    assert (await service.fill_in(*fields)).status_code == 422
    assert service.said == []


@pytest.mark.parametrize(
    ("given", "page"),
    [
        (HOME + "at=acme%2Fsupport&id=c1#turn-3", HOME + "at=acme%2Fsupport&id=c1"),
        ("/dashboard/accuracy?", "/dashboard/accuracy?"),
        ("/dashboard/review?x=~!", "/dashboard/review?x=~!"),
        ("/dashboard/erase?x=1", HOME),
        ("/dashboard/conversation", HOME),
        ("//evil.example/dashboard/conversation?", HOME),
        (HOME + "a b", HOME),
        (HOME + "a\nb", HOME),
        (HOME + "\x7f", HOME),
        (HOME + "ü", HOME),
    ],
)
async def test_a_form_goes_back_to_a_page_of_the_dashboard_alone(service: Service, given: str, page: str) -> None:
    answer = await service.fill_in(("reaction", "ok"), ("next", given))
    assert answer.status_code == 303
    target, _, rest = answer.headers["location"].partition("&reviewed=")
    assert (target, rest[36:]) == (page, "#here")


async def test_a_page_is_told_whether_its_review_was_saved_or_retracted(service: Service) -> None:
    page = HOME + "at=acme%2Fsupport&id=c1"
    for reaction, change in (("not_ok", "reviewed"), ("none", "retracted")):
        answer = await service.fill_in(("reaction", reaction), ("next", page))
        assert answer.headers["location"].startswith(f"{page}&{change}=")


@pytest.mark.parametrize("piece", ["next=/dashboard/conversation?", "a", "%", "=&", "reaction=ok&"])
def test_an_endless_form_is_read_in_proportion_to_its_length(piece: str) -> None:
    def read(length: int) -> None:
        with suppress(ValidationError):
            _form(f"next=/dashboard/review?{piece * (length // len(piece))}\n".encode())

    doubles(read)
