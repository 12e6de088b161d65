"""Parsing of the forms on the pages."""

from __future__ import annotations

from typing import Final, Self, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import BaseModel, ValidationError

from servicekit.errors import RequestRefused, error_summary

M = TypeVar("M", bound=BaseModel)
FORM: Final = "application/x-www-form-urlencoded"
_MOST_BYTES: Final = 16_384
_MOST_FIELDS: Final = 80


class Form(dict[str, list[str]]):
    """Fields of a form, each with a list of its values in order."""

    @classmethod
    async def read(cls, request: Request) -> Self:
        """Return the form in a request.

        Raises RequestRefused with status 422 for a form that cannot be read.
        """
        body = await request.body()
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != FORM or len(body) > _MOST_BYTES:
            raise RequestRefused(422, "The form could not be read.")
        try:
            return cls(parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            raise RequestRefused(422, "The form could not be read.") from None

    def parsed(self, model: type[M], **values: object) -> M:
        """Return the model with the given values, by default those of the fields that are not empty.

        Raises RequestRefused with status 422 if a value is invalid.
        """
        try:
            return model.model_validate(values or self.filled)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            raise RequestRefused(422, error_summary(faults)) from None

    @property
    def filled(self) -> dict[str, str]:
        """The first value of each field that is not empty."""
        return {name: values[0] for name, values in self.items() if values[0]}

    def field(self, name: str) -> str:
        """Return the first value of a field, or the empty string."""
        return self.get(name, [""])[0]
