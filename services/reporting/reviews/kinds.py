"""Precision of each kind of machine verdict, from random reviews or, if there are too few, as published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from contracts.base import DecidedBy, Reaction
from contracts.intervals import wilson
from detector.published import PUBLISHED, CheckedVerdicts
from reporting.model.responses import ResponseModel

ENOUGH: Final = 50
"""Minimum number of reviewed verdicts of a kind for which their precision replaces the published one.

With 50 reviews, the confidence interval is at most 28 percentage points wide.
"""
KindCounts = Mapping[tuple[Reaction, DecidedBy | None], CheckedVerdicts]


class VerdictKind(ResponseModel):
    """Precision (share of correct verdicts) of one kind of machine verdict, with its 95 % confidence interval."""

    reaction: Annotated[Reaction, Field(description="The machine's verdict.")]
    decided_by: Annotated[
        DecidedBy | None, Field(description="The part of the detector that decided; null for all parts together.")
    ]
    source: Annotated[
        Literal["reviews", "published"],
        Field(
            description="`reviews`: measured on a random sample of this project's answers. `published`: measured on "
            "labelled conversations."
        ),
    ]
    right: Annotated[int, Field(description="Number of checked verdicts that were right.")]
    checked: Annotated[int, Field(description="Number of checked verdicts of this kind.")]
    low: Annotated[float, Field(description="Lower bound of the share, 0 to 1.")]
    high: Annotated[float, Field(description="Upper bound of the share, 0 to 1.")]


def kind_of(reaction: Reaction, decided_by: DecidedBy | None, counts: KindCounts) -> VerdictKind | None:
    """Return the precision of a kind of verdict, or None if it is unknown.

    The precision is computed from at least ENOUGH reviews of verdicts by the same detector component. If there are too
    few, reviews of verdicts by all components are used. If these are also too few, the published precision is returned.
    For verdicts of a language model, none has been published.
    """
    of_part = counts.get((reaction, decided_by), CheckedVerdicts(0, 0))
    if of_part.checked >= ENOUGH:
        return _kind(reaction, decided_by, "reviews", of_part)
    of_all = _total(choices for (verdict, _), choices in counts.items() if verdict == reaction)
    if of_all.checked >= ENOUGH:
        return _kind(reaction, None, "reviews", of_all)
    if reaction not in PUBLISHED or decided_by == "llm":
        return None
    return _kind(reaction, None, "published", PUBLISHED[reaction])


def kinds_of(counts: KindCounts) -> list[VerdictKind]:
    """Return the precision of every kind of ok and not_ok machine verdict, without duplicates."""
    parts: tuple[DecidedBy, ...] = ("rules", "learned", "llm")
    verdicts: tuple[Reaction, ...] = ("not_ok", "ok")
    kinds = (kind_of(reaction, part, counts) for reaction in verdicts for part in parts)
    return list(dict.fromkeys(kind for kind in kinds if kind is not None))


def _total(counts: Iterable[CheckedVerdicts]) -> CheckedVerdicts:
    right = checked = 0
    for count in counts:
        right, checked = right + count.right, checked + count.checked
    return CheckedVerdicts(right, checked)


def _kind(
    reaction: Reaction, decided_by: DecidedBy | None, source: Literal["reviews", "published"], count: CheckedVerdicts
) -> VerdictKind:
    bounds = wilson(count.right, count.checked)
    return VerdictKind(
        reaction=reaction,
        decided_by=decided_by,
        source=source,
        right=count.right,
        checked=count.checked,
        low=bounds.low,
        high=bounds.high,
    )
