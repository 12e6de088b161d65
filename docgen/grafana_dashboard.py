"""Generator of the Grafana dashboard deploy/grafana/agent-feedback.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).parents[1] / "deploy/grafana/agent-feedback.json"
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH, _HEIGHT = 12, 8
_COLUMNS = 24


@dataclass(frozen=True)
class Panel:
    """Time series with title, unit, and queries with legends. `description` tells readers how to interpret it."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    description: str = ""


@dataclass(frozen=True)
class Row:
    """Panels under a common heading."""

    title: str
    panels: tuple[Panel, ...]


def _by_agent(metric: str) -> str:
    """Return the query of a figure by agent. All processes of reporting export the same figures."""
    return f'max by (tenant, project, agent, origin) ({metric}{{tenant=~"$tenant"}})'


ROWS = (
    Row(
        "What people think of the agents",
        (
            Panel(
                "Satisfaction, last 24 hours",
                "percentunit",
                ((_by_agent("agent_feedback_satisfaction"), "{{project}} {{agent}} ({{origin}})"),),
                "Share of good verdicts. People and machine are separate series.",
            ),
            Panel(
                "Rejection rate, last 24 hours",
                "percentunit",
                ((_by_agent("agent_feedback_rejection_rate"), "{{project}} {{agent}} ({{origin}})"),),
            ),
            Panel(
                "Verdicts, last 24 hours",
                "short",
                ((_by_agent("agent_feedback_verdicts"), "{{project}} {{agent}} ({{origin}})"),),
            ),
            Panel(
                "Records a second, by outcome",
                "ops",
                (("sum by (group, outcome) (rate(agent_feedback_records_total[5m]))", "{{group}} {{outcome}}"),),
            ),
        ),
    ),
    Row(
        "Is it keeping up?",
        (
            Panel(
                "Records behind",
                "short",
                (("sum by (group) (agent_feedback_lag_records)", "{{group}}"),),
                "Records in the log that the group has not committed. Steady growth: start more processes.",
            ),
            Panel(
                "Seconds per batch",
                "s",
                (
                    (
                        "histogram_quantile(0.5, sum by (group, le) (rate(agent_feedback_batch_seconds_bucket[5m])))",
                        "{{group}} median",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (group, le) (rate(agent_feedback_batch_seconds_bucket[5m])))",
                        "{{group}} p99",
                    ),
                ),
                "From a batch's arrival to its commit.",
            ),
            Panel(
                "Seconds behind",
                "s",
                (("time() - min by (group) (agent_feedback_committed_log_time_seconds)", "{{group}}"),),
                "Age of the last committed record, in the partition with unread records where it is oldest.",
            ),
            Panel(
                "Seconds from arrival in the log to commit",
                "s",
                (
                    (
                        "histogram_quantile(0.5, sum by (group, le) "
                        "(rate(agent_feedback_event_to_commit_seconds_bucket[5m])))",
                        "{{group}} median",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (group, le) "
                        "(rate(agent_feedback_event_to_commit_seconds_bucket[5m])))",
                        "{{group}} p99",
                    ),
                ),
                "Per record. With traces its exemplars link to them.",
            ),
            Panel(
                "Parked replies and reactions",
                "short",
                (("agent_feedback_parked", "{{service}}"),),
                "They wait for the message that they are about.",
            ),
            Panel(
                "Age of the oldest parked event",
                "s",
                (("agent_feedback_parked_oldest_seconds", "{{service}}"),),
                "CHAT_BRIDGE_PARKED_DAYS ends the wait.",
            ),
            Panel("Ready", "short", (("agent_feedback_ready", "{{part}} {{instance}}"),), "1 while ready."),
        ),
    ),
    Row(
        "Why is it slow?",
        (
            Panel(
                "Cores per stage",
                "short",
                (("sum by (group, stage) (rate(agent_feedback_stage_seconds_sum[5m]))", "{{group}} {{stage}}"),),
                "Seconds per second that batches spend in each stage. The largest one limits the group. Parsing, "
                "patterns and encoder are our own processor time; database, gate, produce and commit are waits.",
            ),
            Panel(
                "Seconds of a batch by stage",
                "s",
                (
                    (
                        "sum by (group, stage) (rate(agent_feedback_stage_seconds_sum[5m])) "
                        "/ sum by (group, stage) (rate(agent_feedback_stage_seconds_count[5m]))",
                        "{{group}} {{stage}}",
                    ),
                ),
            ),
            Panel(
                "Records in a batch",
                "short",
                (
                    (
                        "sum by (group) (rate(agent_feedback_batch_records_sum[5m])) "
                        "/ sum by (group) (rate(agent_feedback_batch_records_count[5m]))",
                        "{{group}}",
                    ),
                ),
                "Small batches at a lag mean that fetching is slow; full ones that handling is.",
            ),
            Panel(
                "Wait for a database connection, p99",
                "s",
                (
                    (
                        "histogram_quantile(0.99, sum by (pool, le) "
                        "(rate(agent_feedback_pool_wait_seconds_bucket[5m])))",
                        "{{pool}}",
                    ),
                ),
                "Above a few milliseconds the pool is too small (…_POOL_SIZE), or its statements are slow.",
            ),
        ),
    ),
    Row(
        "What goes wrong?",
        (
            Panel(
                "Dead letters in 15 minutes",
                "short",
                (
                    (
                        "sum by (topic, reason) (increase(agent_feedback_dead_letters_total[15m]))",
                        "{{topic}} {{reason}}",
                    ),
                ),
                "agent-feedback dlq list shows them.",
            ),
            Panel(
                "Rejected chat events in 15 minutes",
                "short",
                (
                    (
                        "sum by (field, rule) (increase(agent_feedback_refused_events_total[15m]))",
                        "{{field}} {{rule}}",
                    ),
                ),
            ),
            Panel(
                "Repeated batches and lost commits a second",
                "ops",
                (
                    ("sum by (group) (rate(agent_feedback_batch_retries_total[5m]))", "{{group}} repeated"),
                    ("sum by (group) (rate(agent_feedback_lost_commits_total[5m]))", "{{group}} lost commits"),
                ),
            ),
            Panel(
                "Requests failed with 500 in 15 minutes",
                "short",
                (("sum by (route) (increase(agent_feedback_http_failures_total[15m]))", "{{route}}"),),
            ),
        ),
    ),
    Row(
        "Neighbours",
        (
            Panel(
                "Webhooks and alert messages in 15 minutes",
                "short",
                (
                    (
                        "sum by (endpoint, outcome) (increase(agent_feedback_webhooks_total[15m]))",
                        "{{endpoint}} {{outcome}}",
                    ),
                    (
                        "sum by (channel, outcome) (increase(agent_feedback_alert_messages_total[15m]))",
                        "{{channel}} {{outcome}}",
                    ),
                ),
            ),
            Panel(
                "Language model, answers a second",
                "ops",
                (("sum by (outcome) (rate(agent_feedback_llm_gate_total[5m]))", "{{outcome}}"),),
            ),
            Panel(
                "Resident memory",
                "bytes",
                (("process_resident_memory_bytes", "{{instance}}"),),
            ),
            Panel(
                "Cores in use",
                "short",
                (("rate(process_cpu_seconds_total[5m])", "{{instance}}"),),
            ),
        ),
    ),
)


def queries() -> Iterator[str]:
    """Yield every query of the dashboard."""
    for row in ROWS:
        for panel in row.panels:
            for query, _ in panel.queries:
                yield query


def _panels() -> Iterator[dict[str, Any]]:
    top, number = 0, 0
    for row in ROWS:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
            "panels": [],
        }
        top += 1
        for place, panel in enumerate(row.panels):
            number += 1
            across = _COLUMNS // _WIDTH
            at = {"x": place % across * _WIDTH, "y": top + place // across * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
            yield {
                "id": number,
                "type": "timeseries",
                "title": panel.title,
                "description": panel.description,
                "datasource": _SOURCE,
                "gridPos": at,
                "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
                "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
                "targets": [
                    {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
                    for index, (query, legend) in enumerate(panel.queries)
                ],
            }
        top += -(-len(row.panels) // (_COLUMNS // _WIDTH)) * _HEIGHT


def dashboard() -> dict[str, Any]:
    """Return the dashboard, with variables for the Prometheus data source and the tenants."""
    return {
        "title": "agent-feedback",
        "uid": "agent-feedback",
        "tags": ["agent-feedback"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
                {
                    "name": "tenant",
                    "label": "Tenant",
                    "type": "query",
                    "datasource": _SOURCE,
                    "query": "label_values(agent_feedback_verdicts, tenant)",
                    "includeAll": True,
                    "multi": True,
                    "refresh": 2,
                    "current": {"text": "All", "value": "$__all"},
                },
            ]
        },
        "panels": list(_panels()),
    }


def files() -> dict[Path, str]:
    """Return the dashboard as JSON, by path."""
    return {DASHBOARD: json.dumps(dashboard(), indent=2) + "\n"}
