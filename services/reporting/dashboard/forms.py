"""Fields of the dashboard's forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from fastapi import Request

from servicekit import RequestRefused

_MOST_BYTES: Final = 16_384
_MOST_FIELDS: Final = 80
_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> Mapping[str, list[str]]:
    """Return a form's fields. Raises RequestRefused, also for a form on another site's page.

    Browsers send no cookie with such a form (SameSite=Strict), but count sibling domains as the same site.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RequestRefused(403, "This form was not sent from its own page.")
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if media_type != _MEDIA_TYPE or len(body) > _MOST_BYTES:
        raise RequestRefused(422, "The form could not be read.")
    try:
        return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise RequestRefused(422, "The form could not be read.") from None


def field(form: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a field, or the empty string."""
    return form.get(name, [""])[0]
