"""Summary of pydantic's validation errors in one sentence, without the invalid input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_SHOWN = 5
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_PARTS_OF_A_REQUEST = frozenset({"body", "path", "query", "header"})


def error_summary(faults: Sequence[Any]) -> str:
    """Return the first few validation errors as `field: rule; field: rule`, in ASCII and without the invalid input.

    The names of unknown fields are omitted too, because they may be a person's text. Unknown query parameters are
    named.
    """
    sentences = list(dict.fromkeys(_one_error(fault) for fault in faults))
    more = f"; and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
    return ("; ".join(sentences[:_SHOWN]) + more).encode("ascii", "backslashreplace").decode()


def _one_error(fault: Any) -> str:
    place = [str(part)[:64] for part in fault["loc"]]
    unknown = fault.get("type") == "extra_forbidden"
    if unknown and place[0] == "query" and _PARAMETER.fullmatch(place[-1]):
        return f"{place[-1]}: an unknown parameter"
    if len(place) > 1 and place[0] in _PARTS_OF_A_REQUEST:
        del place[0]
    if unknown:
        return ": ".join([*filter(None, [".".join(place[:-1])]), "an unknown field"])
    return f"{'.'.join(place) or 'body'}: {rule_of(fault)}"


def rule_of(fault: Any) -> str:
    """Return the message of a validation error, which states the violated rule."""
    return str(fault["msg"]).removeprefix("Value error, ")
