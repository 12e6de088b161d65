"""HTTP route that accepts reviews. A review overrules the machine's verdicts on its turn."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import parse_qs
from uuid import UUID

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name, Reaction, Text
from contracts.message_fields import TurnKey
from contracts.scopes import REVIEW
from feedback.store import Store
from feedback.submission import AcceptedFeedback, ExplicitIntake, TurnJudgement
from servicekit.errors import RequestRefused
from servicekit.web.auth import RequestCaller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

REVIEWS: Final = "/conversations/{tenant}/{project}/{conversation_id:segment}/turns/{turn_id:segment}/reviews"
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
_PAGE: Final = re.compile(r"/dashboard/(?:conversation|accuracy|review)\?[\x21-\x7e]*")


class GivenReview(BaseModel):
    """A reviewer's verdict on a turn. A reviewer has one review per turn; a later review replaces it."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    verdict: UUID | None = Field(
        default=None,
        description="The `feedback_id` of the machine's verdict; null if the machine has not judged the turn.",
    )
    reaction: Reaction | None = Field(
        description="The correct verdict: ok, not_ok or neutral, even if it equals the machine's verdict; null "
        "retracts the review, so that the machine's verdict counts again."
    )
    text: Text | None = Field(default=None, description="The reason, in the reviewer's own words.")
    correction: Text | None = Field(default=None, description="What the agent's answer should have been.")


Readers = Mapping[str, Callable[[bytes], tuple[GivenReview, str | None]]]
"""Parsers of a request body by media type. Each returns the review, and the page to redirect to or None."""
ANSWERS: Final = {
    401: "No valid access token.",
    403: "The token does not cover that project or lacks the scope review, or another site sent the form.",
    404: "No agent has answered on that turn, or the machine has no such verdict on it.",
    413: "The body is too large.",
    415: "The body is neither JSON nor a form.",
    422: "The body or the path is invalid.",
    429: "The embedded log is full; see Retry-After.",
    503: "The log or the database does not answer; see Retry-After.",
}
BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": GivenReview.model_json_schema(by_alias=False),
                "examples": {
                    "wrong": {
                        "summary": "The machine took a question for a rejection",
                        "value": {"verdict": "0b8e3b1e-51d8-5f0a-9d8e-5c1f6c1d2a11", "reaction": "neutral"},
                    }
                },
            }
        },
    }
}


def reviews_router(intake: ExplicitIntake, store: Store) -> Routes:
    """Return the route that accepts reviews, either as JSON or as a form from the transcript page."""
    router = Routes("feedback")

    @router.at(
        "POST", REVIEWS, REVIEW, status_code=202, response_model=AcceptedFeedback, refuses=ANSWERS, openapi_extra=BODY
    )
    async def review(
        request: Request, tenant: Name, project: Name, conversation_id: Id, turn_id: Id, caller: RequestCaller
    ) -> AcceptedFeedback | Response:
        """Review a turn: confirm or overrule the machine's verdicts on it, or judge a turn without a verdict.

        The review is stored as feedback with the origin `reviewer` and the source `review`. The machine's verdicts on
        the turn no longer count, and are announced as cleared with `overruledBy`. If a turn has several reviews, the
        newest one counts.
        """
        readers: Readers = {JSON: _json, FORM: _form}
        body, page = await read_body(request, readers)
        key = TurnKey(tenant, project, conversation_id, turn_id)
        reviewed = turn_id if body.verdict is None else str(body.verdict)
        judgement = TurnJudgement(caller.subject, body.reaction, None, body.text, (), body.correction, reviews=reviewed)
        if body.verdict is not None:
            await _require_verdict(store, key, body.verdict)
        accepted = await intake.take(key, judgement)
        change = "retracted" if body.reaction is None else "reviewed"
        return accepted if page is None else RedirectResponse(f"{page}&{change}={accepted.feedback_id}#here", 303)

    return router


async def _require_verdict(store: Store, key: TurnKey, verdict: UUID) -> None:
    """Raise RequestRefused (404) unless the feedback record `verdict` is a machine's verdict on this turn."""
    record = (await store.load([verdict])).get(verdict)
    if record is not None and record.is_verdict and record.current_entry.present and record.turn == key:
        return
    raise RequestRefused(404, "The machine has no such verdict on that turn.")


def _json(body: bytes) -> tuple[GivenReview, None]:
    return GivenReview.model_validate_json(body), None


def _form(body: bytes) -> tuple[GivenReview, str]:
    """Parse a form. Blank fields are left out.

    Returns:
        The review, and the page to redirect to.
    """
    try:
        values = {name: repeated[-1] for name, repeated in parse_qs(body.decode(), max_num_fields=10).items()}
    except ValueError:
        values = {}
    target = values.pop("next", "")
    target = target.partition("#")[0] if _PAGE.fullmatch(target) else "/dashboard/conversation?"
    fields = {name: None if name == "reaction" and value == "none" else value for name, value in values.items()}
    return GivenReview.model_validate_json(json.dumps(fields)), target
