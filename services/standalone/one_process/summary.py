"""Summary of a run, as a JSON object or as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from contracts.topics import TOPICS
from reporting.figures.counts import totals

if TYPE_CHECKING:
    from standalone.one_process.outcomes import Outcomes
    from standalone.one_process.replay import ReplayResult
    from standalone.one_process.stack import Stack

FEEDBACK_TYPES = ("implicit", "reaction", "explicit", "inferred")


async def summary(stack: Stack, account: ReplayResult, outcomes: Outcomes, seconds: float) -> dict[str, Any]:
    """Return the summary of a run that took `seconds`.

    `feedback`, `parked` and `report` cover all tenants and all data in the state folder. The other sections only cover
    this run.
    """
    produced, feedback = stack.produced, await stack.services["feedback"].parts.store.count()
    return {
        "replayed": {
            "lines": account.lines,
            "events": account.events,
            "rejected": [line.row() for line in account.rejected],
        },
        "topics": {topic.name: produced[topic.name] for topic in TOPICS},
        "feedback": {
            "stored": feedback.total(),
            "by_type": {name: feedback[name] for name in FEEDBACK_TYPES},
        },
        "dead_letters": {topic.name: outcomes.dead_letters[topic.name] for topic in TOPICS},
        "parked": await stack.services["chat_bridge"].parts.store.parked(),
        "ignored": dict(sorted(outcomes.ignored.items())),
        "report": await totals(stack.services["reporting"].parts.pool),
        "seconds": round(seconds, 3),
    }


def print_summary(console: Console, facts: dict[str, Any]) -> None:
    """Print the summary of a run as a table: input, stored feedback and verdicts."""
    replayed, feedback, report = facts["replayed"], facts["feedback"], facts["report"]
    by_type = feedback["by_type"]
    table = Table(title="Outcome", title_justify="left", show_header=False, pad_edge=False, box=None)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    lines = f"of {replayed['lines']:,} lines, {len(replayed['rejected']):,} rejected"
    table.add_row("chat events published", f"{replayed['events']:,}", lines)
    kinds = ", ".join(f"{by_type[name]:,} {name}" for name in FEEDBACK_TYPES if by_type[name])
    table.add_row("feedback stored", f"{feedback['stored']:,}", kinds)
    table.add_row("feedback.created announced", f"{facts['topics']['feedback.created']:,}", "in this run")
    table.add_row("awaiting their message", f"{facts['parked']:,}", "parked")
    table.add_row("dead letters", f"{sum(facts['dead_letters'].values()):,}", "in this run")
    table.add_row("conversations with a verdict", f"{report['conversations']:,}", "")
    verdicts = f"👍 {report['ok']:,} ok   👎 {report['not_ok']:,} not ok   😐 {report['neutral']:,} neutral"
    table.add_row("verdicts on turns", f"{report['total']:,}", verdicts)
    table.add_row("", "", f"{report['user']:,} by people, {report['machine']:,} inferred from what they wrote next")
    table.add_row("seconds", f"{facts['seconds']:.1f}", "start-up included")
    console.print(table)
