"""Figures of feedback as metrics: by agent and origin, of the last day, for a limited number of agents."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from contracts.instants import DAY
from reporting.figures import gauges as module
from reporting.figures.gauges import FeedbackMetrics
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.reporting_events import START, Take, feedback

NOW = START + DAY


def shown(name: str) -> dict[tuple[str, str, str], float]:
    """Return the samples of a gauge by project, agent and origin."""
    return {
        (sample.labels["project"], sample.labels["agent"], sample.labels["origin"]): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == name
    }


async def test_metrics_have_the_last_days_figures_of_the_most_judged_agents(
    read_models: Database, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        ("ok", "explicit"),
        ("ok", "explicit"),
        ("neutral", "explicit"),
        ("not_ok", "explicit"),
        ("not_ok", "inferred"),
    ]
    await take(
        *(
            feedback(f"f{n}", kind=kind, reaction=reaction, turn=f"t{n}", user=f"u{n}", at=n + 1)
            for n, (reaction, kind) in enumerate(said)
        ),
        feedback("old", kind="explicit", reaction="not_ok", turn="t9", at=-1),
        feedback("other", kind="explicit", reaction="ok", project="sales", agent="small", at=1),
    )
    gauges = FeedbackMetrics(read_models, FixedClock(NOW))
    await gauges.update()
    assert shown("agent_feedback_satisfaction") == {
        ("support", "agent-a", "user"): 0.5,
        ("support", "agent-a", "machine"): 0.0,
        ("sales", "small", "user"): 1.0,
    }
    assert shown("agent_feedback_verdicts")["support", "agent-a", "user"] == 4
    assert shown("agent_feedback_rejection_rate")["support", "agent-a", "user"] == 0.25
    monkeypatch.setattr(module, "MOST_AGENTS", 1)
    await gauges.update()
    assert {key[0] for key in shown("agent_feedback_satisfaction")} == {"support"}
    assert REGISTRY.get_sample_value("agent_feedback_unlisted_agents") == 1
    later = FeedbackMetrics(read_models, FixedClock(NOW + 2 * DAY))
    later._shown = gauges._shown
    await later.update()
    assert shown("agent_feedback_verdicts") == {}
