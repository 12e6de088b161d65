"""Summary of pydantic's validation errors in one sentence, without the invalid input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SHOWN = 5
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PARTS_OF_A_REQUEST = frozenset({"body", "path", "query", "header"})


def error_summary(faults: Sequence[Any]) -> str:
    """Return the first few validation errors as `field: rule; field: rule`, in ASCII and without the invalid input.

    An unknown field is named if its name is an identifier. Any other name may be a person's text.
    """
    sentences = list(dict.fromkeys(_one_error(fault) for fault in faults))
    more = f"; and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
    return ("; ".join(sentences[:_SHOWN]) + more).encode("ascii", "backslashreplace").decode()


def _one_error(fault: Any) -> str:
    location = [str(part)[:64] for part in fault["loc"]]
    if len(location) > 1 and location[0] in _PARTS_OF_A_REQUEST:
        del location[0]
    if fault.get("type") != "extra_forbidden":
        return f"{'.'.join(location) or 'body'}: {rule_of(fault)}"
    if not _IDENTIFIER.fullmatch(location[-1]):
        del location[-1]
    return ": ".join([*filter(None, [".".join(location)]), "an unknown field"])


def rule_of(fault: Any) -> str:
    """Return the message of a validation error, which states the violated rule."""
    return str(fault["msg"]).removeprefix("Value error, ")
