"""Copies feedback to MLflow, as assessments of traces. See carry.py.

    python examples/bridges/to_mlflow.py --broker localhost:9092 --state mlflow.sqlite --url http://localhost:5000

MLflow names a trace `tr-` and its OpenTelemetry id. An assessment is found by the feedbackId in its metadata.
"""

from __future__ import annotations

from typing import Any

import httpx
from carry import annotator_of, explanation_of, parser_of, run

NAME = "user_feedback"


class MLflow:
    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=f"{url.rstrip('/')}/api/3.0/mlflow/traces/", timeout=30)

    def put(self, event: dict[str, Any]) -> bool:
        trace_id = _trace(event["traceId"])
        held = self._held(event["feedbackId"], trace_id)
        if held is None:
            return False
        for one in held:
            self._delete(trace_id, one)
        assessment = {
            "assessment_name": NAME,
            "source": {"source_type": annotator_of(event), "source_id": event["userId"]},
            "feedback": {"value": event["value"]},
            "rationale": explanation_of(event),
            "metadata": {
                "feedbackId": event["feedbackId"],
                "reaction": event["reaction"],
                "feedbackType": event["feedbackType"],
                "agentId": event["agentId"],
            },
            "create_time": event["occurredAt"],
            "last_update_time": event["recordedAt"],
        }
        self._http.post(f"{trace_id}/assessments", json={"assessment": assessment}).raise_for_status()
        return True

    def remove(self, feedback_id: str, trace_id: str) -> None:
        for one in self._held(feedback_id, _trace(trace_id)) or ():
            self._delete(_trace(trace_id), one)

    def _held(self, feedback_id: str, trace_id: str) -> list[str] | None:
        """Return the assessments of a feedback record; None if there is no such trace."""
        answer = self._http.get(trace_id)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        answer.raise_for_status()
        found = answer.json()["trace"]["trace_info"].get("assessments", [])
        return [one["assessment_id"] for one in found if one.get("metadata", {}).get("feedbackId") == feedback_id]

    def _delete(self, trace_id: str, assessment_id: str) -> None:
        answer = self._http.delete(f"{trace_id}/assessments/{assessment_id}")
        if answer.status_code != httpx.codes.NOT_FOUND:
            answer.raise_for_status()


def _trace(trace_id: str) -> str:
    return trace_id if trace_id.startswith("tr-") else f"tr-{trace_id}"


if __name__ == "__main__":
    chosen = parser_of("MLflow", "http://localhost:5000").parse_args()
    run(chosen, MLflow(chosen.url))
