"""Reading of JSON request bodies into models."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)


class Malformed(Exception):
    """The body is not valid for its model; answered with 422. `faults` are pydantic's errors without the input."""

    def __init__(self, faults: list[Any]) -> None:
        super().__init__("malformed")
        self.faults = faults


def read_body(model: type[M], body: bytes | str) -> M:
    """Parse a JSON body. Raises Malformed."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise Malformed(error.errors(include_url=False, include_context=False, include_input=False)) from None
    except (ValueError, RecursionError):
        raise Malformed([{"loc": (), "msg": "not one JSON value in UTF-8"}]) from None
