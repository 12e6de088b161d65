"""Extract the text from a chat completion response. No I/O."""

from __future__ import annotations

from pydantic_core import from_json


class WrongAnswer(ValueError):
    """Raised if the language model's answer does not have the requested form.

    The error message never contains the answer.
    """


def content_in(completion: bytes) -> str:
    """Return the text of the first choice in a chat completion response.

    Raises:
        WrongAnswer: The response is not a valid chat completion.
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
