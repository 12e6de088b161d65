"""Strategies of hypothesis for input that is almost valid: random input hardly passes the first check of a reader."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

EXAMPLES = 600
"""Budget of a test with damaged input."""
BUDGET = settings(max_examples=EXAMPLES)
_EDGES = st.sampled_from(["", [], {}, [None], "\x00", 10**30, "9" * 400])
_JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | _EDGES


@st.composite
def damaged(draw: st.DrawFn, examples: Sequence[Any]) -> Any:
    """Generate one of the JSON `examples` in which up to three values are replaced, removed or copied from another."""
    document = deepcopy(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(_places(document)) if _places(document) else st.none())
        if place is None:
            break
        holder, key = place
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[key]
        else:
            # A copy, because the next round may change what it contains.
            holder[key] = deepcopy(draw(_JUNK | st.sampled_from(examples)))
    return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return the holder and the key of each value in `document`."""
    found: list[tuple[Any, Any]] = []
    left = [document]
    while left:
        holder = left.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            left.append(holder[key])
    return found
