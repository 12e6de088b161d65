"""Validate responses against the types in `answers.py`. No I/O."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_LARGEST = 1e300


def first_mismatch(value: Any, expected: Any, path: str = "") -> str | None:
    """Return the position of the first mismatch between a JSON value and a type, or None if the value matches.

    The position is a dotted path, such as `items.0.reaction`. Unknown fields and unknown values of a `Literal` are
    accepted, because later versions of the platform may add them.
    """
    if is_typeddict(expected):
        if not isinstance(value, dict):
            return path or "no object"
        for name, kind, needed in _fields(expected):
            there = f"{path}.{name}".lstrip(".")
            if name not in value:
                if needed:
                    return there
            elif (mismatch := first_mismatch(value[name], kind, there)) is not None:
                return mismatch
        return None
    kinds = get_args(expected)
    match get_origin(expected):
        case origin if origin is list:
            if not isinstance(value, list):
                return path
            places = (first_mismatch(element, kinds[0], f"{path}.{number}") for number, element in enumerate(value))
            return next((mismatch for mismatch in places if mismatch is not None), None)
        case origin if origin in (Union, UnionType):
            return None if any(first_mismatch(value, kind, path) is None for kind in kinds) else path
        case origin if origin is dict:
            return None if isinstance(value, dict) else path
        case origin if origin is Literal:
            return None if isinstance(value, str) else path
    return None if _is(value, expected) else path


def _is(value: Any, expected: Any) -> bool:
    if expected is float:  # JSON may have 1 for 1.0; NaN and infinity are rejected
        return isinstance(value, int | float) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST
    return expected is Any or type(value) is (NoneType if expected is None else expected)


@cache
def _fields(expected: Any) -> tuple[tuple[str, Any, bool], ...]:
    """Return a tuple for each field of a TypedDict: its name, its type, and True if it is required."""
    hints = get_type_hints(expected, include_extras=True)
    return tuple(
        (name, get_args(hint)[0] if get_origin(hint) is NotRequired else hint, get_origin(hint) is not NotRequired)
        for name, hint in hints.items()
    )
