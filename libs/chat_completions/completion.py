"""Content of a chat completion. Pure."""

from __future__ import annotations

from pydantic_core import from_json


class WrongAnswer(ValueError):
    """The model's answer does not have the requested form. The error never contains the answer."""


def content_in(completion: bytes) -> str:
    """Return the text of the model's first message in a chat completion's body. Raises WrongAnswer."""
    try:
        parsed = from_json(completion)
    except (ValueError, RecursionError):
        raise WrongAnswer("no JSON") from None
    match parsed:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
        case _:
            raise WrongAnswer("no chat completion")
