"""Prometheus metrics of the inference service."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

LLM_GATE = Counter(
    "agent_feedback_llm_gate_total",
    "Questions to the LLM gate: known, answered, or left to the rules because the endpoint was slow, broken, wrong or "
    "resting (open), or because the batch's deadline had passed (late)",
    ("outcome",),
)
DETECTORS = Gauge(
    "agent_feedback_detectors",
    "1 for each detector version that has judged in the last five minutes; two during a rollout",
    ("version",),
)
