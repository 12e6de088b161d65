"""HTTP route that accepts explicit feedback: a person's judgement of a turn."""

from __future__ import annotations

from fastapi import Request

from contracts.base import Id, Name
from contracts.message_fields import TurnKey
from contracts.scopes import ON_BEHALF
from feedback.submission import AcceptedFeedback, ExplicitIntake
from feedback.submission_body import EXAMPLES, GivenFeedback, given
from servicekit.web.auth import RequestCaller
from servicekit.web.bodies import read_body
from servicekit.web.routes import Routes

TURN_FEEDBACK = "/conversations/{tenant}/{project}/{conversation_id:segment}/turns/{turn_id:segment}/feedback"
JSON = "application/json"

ANSWERS = {
    400: "The reaction is not ok, not_ok, neutral or null, or the rating is not on its scale.",
    401: "No valid access token.",
    403: "The token does not cover that project, or may not speak for others.",
    404: "No agent has answered on that turn.",
    409: "The person was erased less than five minutes ago, or after the judgement's time; see Retry-After.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    422: "The body or the path is invalid.",
    429: "The person has sent too many judgements within a minute, or the embedded log is full; see Retry-After.",
    503: "The log does not answer, or the turn may not have been read yet; see Retry-After.",
}
BODY = {
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": GivenFeedback.model_json_schema(by_alias=False), "examples": EXAMPLES}},
    }
}


def intake_router(intake: ExplicitIntake) -> Routes:
    """Return the route that accepts judgements."""
    router = Routes("feedback")

    @router.at(
        "POST",
        TURN_FEEDBACK,
        "any token",
        status_code=202,
        response_model=AcceptedFeedback,
        refuses=ANSWERS,
        openapi_extra=BODY,
    )
    async def judge(
        request: Request, tenant: Name, project: Name, conversation_id: Id, turn_id: Id, caller: RequestCaller
    ) -> AcceptedFeedback:
        """Judge a turn with a reaction or a rating, or change or retract an earlier judgement.

        A person has one judgement per turn: a later one replaces it, and an exact repetition changes nothing.
        """
        body = await read_body(request, {JSON: given})
        judgement = body.judgement(caller.person(body.user_id))
        limited = body.user_id is not None or ON_BEHALF not in caller.scopes
        return await intake.take(TurnKey(tenant, project, conversation_id, turn_id), judgement, limited=limited)

    return router
