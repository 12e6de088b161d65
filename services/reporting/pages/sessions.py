"""Sessions page: ratings of sessions by day and by length."""

from __future__ import annotations

from fastapi import Response

from reporting.figures.sessions import RatingsOfLength, RatingsOfStep, session_ratings
from reporting.pages.visits import PageSources, Visit
from servicekit.errors import RequestRefused


async def show_sessions(sources: PageSources, visit: Visit) -> Response:
    """Render the ratings of sessions, which belong to a tenant instead of a project."""
    if visit.caller.project is not None:
        raise RequestRefused(404, "Sessions belong to a tenant, but this token is valid for only some of its projects.")
    span = await sources.span(visit)
    ratings = await session_ratings(sources.reports, visit.project.tenant, span, "day")
    return visit.page("sessions.html", s=ratings, span=span, turns=turns_in_words, day=_day)


def _day(step: RatingsOfStep) -> str:
    return step.start[:10]


def turns_in_words(length: RatingsOfLength) -> str:
    """Describe a range of session lengths: `1`, `2 to 3` or `32 or more`."""
    if length.turns_to is None:
        return f"{length.turns_from} or more"
    if length.turns_from == length.turns_to:
        return str(length.turns_from)
    return f"{length.turns_from} to {length.turns_to}"
