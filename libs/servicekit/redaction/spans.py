"""Masking of parts of a text, called spans. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

ROUNDS_LIMIT: Final = 8
WHOLE: Final = "text"
"""Mask kind for a text that is masked as a whole."""


class MaskedSpan(NamedTuple):
    """Part of a text to redact, from `start` up to `end`, with the kind of its content, such as `card`."""

    start: int
    end: int
    kind: str


Recogniser = Callable[[str], Iterable[MaskedSpan]]
"""Function that returns the spans of a text that must not be stored. It must be deterministic."""


def mask(kind: str, length: int) -> str:
    """Return the mask for a text of `length` characters.

    It is never longer than the text, so masking cannot exceed a length limit.
    """
    name = f"[{kind}]"
    return name if len(name) <= length else "*" * length


def joined(spans: Iterable[MaskedSpan]) -> list[MaskedSpan]:
    """Sort spans by position and merge overlapping ones. A merged span has the kind of the first."""
    result: list[MaskedSpan] = []
    for span in sorted(spans, key=lambda candidate: (candidate.start, -candidate.end, candidate.kind)):
        if span.end <= span.start:
            continue
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def redacted(text: str, recognisers: Sequence[Recogniser], once: Sequence[Recogniser] = ()) -> tuple[str, Counter[str]]:
    """Return `text` with the recognisers' matches replaced by masks, and the number of masks by kind.

    A mask may create another match next to it, so the search is repeated until nothing is found. If there are still
    matches after ROUNDS_LIMIT rounds, the whole text is masked.

    Args:
        once: Recognisers that run only in the first round.
    """
    counts: Counter[str] = Counter()
    looking = [*recognisers, *once]
    for _ in range(ROUNDS_LIMIT):
        spans = joined(span for recogniser in looking for span in recogniser(text))
        if not spans:
            return text, counts
        counts.update(span.kind for span in spans)
        text, looking = _masked(text, spans), [*recognisers]
    if any(True for recogniser in recognisers for _ in recogniser(text)):
        return mask(WHOLE, len(text)), counts + Counter({WHOLE: 1})
    return text, counts


def _masked(text: str, spans: Iterable[MaskedSpan]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += text[position : span.start], mask(span.kind, span.end - span.start)
        position = span.end
    return "".join((*parts, text[position:]))
