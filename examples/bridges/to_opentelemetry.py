"""Sends feedback to an OpenTelemetry collector, as events `gen_ai.evaluation.result` on traces. See carry.py.

    python examples/bridges/to_opentelemetry.py --broker localhost:9092 --state otel.sqlite --url http://localhost:4318

Names follow the conventions for generative AI, which are in development. Events cannot be deleted. Feedback that no
longer counts gets a later event with the label `retracted`, no value, and the same `agent_feedback.feedback_id`.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
from carry import explanation_of, parser_of, run

EVENT = "gen_ai.evaluation.result"
RETRACTED = "retracted"


class Collector:
    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=30)

    def put(self, event: dict[str, Any]) -> bool:
        said = {
            "gen_ai.evaluation.score.label": event["reaction"],
            "gen_ai.evaluation.score.value": float(event["value"]),
            "gen_ai.evaluation.explanation": explanation_of(event),
        }
        self._emit(event["feedbackId"], event["traceId"], said)
        return True

    def remove(self, feedback_id: str, trace_id: str) -> None:
        self._emit(feedback_id, trace_id, {"gen_ai.evaluation.score.label": RETRACTED})

    def _emit(self, feedback_id: str, trace_id: str, said: dict[str, Any]) -> None:
        now = str(time.time_ns())
        attributes = {"gen_ai.evaluation.name": "user_feedback", "agent_feedback.feedback_id": feedback_id} | said
        record = {
            "timeUnixNano": now,
            "observedTimeUnixNano": now,
            "severityNumber": 9,
            "eventName": EVENT,
            "traceId": trace_id,
            "attributes": [
                {"key": key, "value": _value(value)} for key, value in attributes.items() if value is not None
            ],
        }
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "agent-feedback"}}]}
        logs = {"scope": {"name": "agent-feedback"}, "logRecords": [record]}
        body = {"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]}
        self._http.post("/v1/logs", json=body).raise_for_status()


def _value(value: str | float) -> dict[str, Any]:
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


if __name__ == "__main__":
    chosen = parser_of("OpenTelemetry", "http://localhost:4318").parse_args()
    run(chosen, Collector(chosen.url))
