"""Extract the text from the response of a chat completion. Pure."""

from __future__ import annotations

from pydantic_core import from_json


class WrongAnswer(ValueError):
    """The language model's answer does not have the requested form. The message never contains the answer."""


def content_in(completion: bytes) -> str:
    """Return the text of the first choice in the body of a chat completion.

    Raises WrongAnswer if the body has another form.
    """
    try:
        parsed = from_json(completion)
    except (ValueError, RecursionError):
        raise WrongAnswer("no JSON") from None
    match parsed:
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
        case _:
            raise WrongAnswer("no chat completion")
