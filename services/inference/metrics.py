"""Prometheus metrics of the inference service."""

from __future__ import annotations

from prometheus_client import Counter

LLM_GATE = Counter(
    "agent_feedback_llm_gate_total",
    "Questions to the LLM gate: known, answered, or left to the rules because the endpoint was slow, broken, wrong or "
    "resting (open), or because the batch's deadline had passed (late)",
    ("outcome",),
)
