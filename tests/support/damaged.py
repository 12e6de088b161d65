"""Strategies of hypothesis for input that is almost valid: random input hardly passes the first check of a reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import hypothesis
from hypothesis import settings
from hypothesis import strategies as st

Example = TypeVar("Example")
EXAMPLES = 600
"""Budget of a test with damaged input."""
BUDGET = settings(max_examples=EXAMPLES)
_REPEATABLE = settings(BUDGET, derandomize=True, database=None, report_multiple_bugs=False)
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


def reached(examples: st.SearchStrategy[Example], condition: Callable[[Example], bool]) -> Example:
    """Return an example that fulfils the condition. Raises hypothesis's NoSuchExample if the budget has none."""
    return hypothesis.find(examples, condition, settings=_REPEATABLE)


def tried(check: Callable[[Example], object], examples: st.SearchStrategy[Example]) -> None:
    """Call `check` with as many examples as a test has, the same in each run. Raises what `check` raises."""

    def called(example: Example) -> None:
        check(example)

    hypothesis.given(examples)(_REPEATABLE(called))()
