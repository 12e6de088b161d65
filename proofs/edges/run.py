"""Comparison of many cases on our server and the reference, in one event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from proofs.edges.cases import Case, case_of
from proofs.edges.differences import differences
from proofs.edges.observed import Observed, Ours, Server, ours, reference

AT_ONCE: Final = 16
LIMIT: Final = 60.0
"""Seconds after which a case counts as hanging."""


@dataclass(frozen=True)
class Finding:
    """Case with an unintended difference between the two servers."""

    case: Case
    ours: Observed | None
    reference: Observed | None

    def __str__(self) -> str:
        at = f"case {self.case.number} ({', '.join(sorted(self.case.features))}): {self.case.sent[:500]!r}"
        return f"{at}\n  ours: {self.ours or 'hangs'}\n  reference: {self.reference or 'hangs'}"


@dataclass
class Comparison:
    """`named` counts the cases of each intended difference."""

    cases: int = 0
    named: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


async def compare(seed: int, cases: int, make: Callable[..., Any] = Ours) -> Comparison:
    """Compare that many cases; `make` creates our side of a connection."""
    numbers = iter(range(cases))
    comparison = Comparison()
    async with ours(make).running() as one, reference().running() as other:

        async def work() -> None:
            for number in numbers:
                case = case_of(seed, number)
                mine, theirs = await _observed(one, case), await _observed(other, case)
                names = None if mine is None or theirs is None else differences(case, mine, theirs)
                comparison.cases += 1
                if names is None:
                    comparison.findings.append(Finding(case, mine, theirs))
                else:
                    comparison.named.update(names)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return comparison


async def _observed(server: Server, case: Case) -> Observed | None:
    try:
        async with asyncio.timeout(LIMIT):
            return await server.observe(case)
    except TimeoutError:
        return None
