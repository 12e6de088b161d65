"""HTTP route that accepts impressions: reports that a person saw the feedback controls of a turn."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from contracts.base import Id, Name
from contracts.feedback import MOST_SHOWN_TURNS
from contracts.scopes import ON_BEHALF
from feedback.impressions import ImpressionIntake, ShownPlace
from feedback.rate_limit import LimitReached
from feedback.submission import RegistryBehind, UnknownTurn
from servicekit import Caller, RequestRefused, Routes, read_body

IMPRESSIONS = "/conversations/{tenant}/{project}/{conversation_id:segment}/impressions"
JSON = "application/json"


class GivenImpressions(BaseModel):
    """Turns of a conversation whose feedback controls became visible to a person."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, json_schema_extra={"examples": [{"turn_ids": ["t-7", "t-8"]}]}
    )

    turn_ids: Annotated[list[Id], Field(min_length=1, max_length=MOST_SHOWN_TURNS)] = Field(
        description=f"The turns, at most {MOST_SHOWN_TURNS}."
    )
    user_id: Annotated[Id | None, Field(description="The person, if not the caller; needs the scope on_behalf.")] = None


class AcceptedImpressions(BaseModel):
    """Impressions that were written to the log. Turns without an answer are left out."""

    accepted: int = Field(description="Number of the turns that were accepted.", examples=[2])


ANSWERS = {
    401: "No valid access token.",
    403: "The token does not cover that project, or may not speak for others.",
    404: "No agent has answered on any of the turns.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    422: "The body or the path is invalid.",
    429: "The person has sent too many requests within a minute, or the embedded log is full; see Retry-After.",
    503: "The log does not answer, or a turn may not have been read yet; see Retry-After.",
}
BODY = {"requestBody": {"required": True, "content": {JSON: {"schema": GivenImpressions.model_json_schema()}}}}


def impressions_router(intake: ImpressionIntake) -> Routes:
    """Return the route that accepts impressions."""
    router = Routes("feedback")

    @router.at("POST", IMPRESSIONS, status_code=202, refuses=ANSWERS, openapi_extra=BODY)
    async def show(
        request: Request, tenant: Name, project: Name, conversation_id: Id, caller: Caller
    ) -> AcceptedImpressions:
        """Report that the feedback controls of turns became visible to a person.

        An impression is counted once per person and turn, however often it is sent. Impressions are not feedback: they
        change no reward and no satisfaction rate.
        """
        given = await read_body(request, {JSON: GivenImpressions.model_validate_json})
        person = caller.person(given.user_id)
        limited = given.user_id is not None or ON_BEHALF not in caller.scopes
        try:
            accepted = await intake.take(
                ShownPlace(tenant, project, conversation_id), person, given.turn_ids, limited=limited
            )
        except UnknownTurn:
            raise RequestRefused(404, "No agent has answered on any of these turns.") from None
        except RegistryBehind:
            raise RequestRefused(503, "A turn is not known yet; send the request again.") from None
        except LimitReached as error:
            raise RequestRefused(429, str(error), error.seconds) from None
        return AcceptedImpressions(accepted=accepted)

    return router
