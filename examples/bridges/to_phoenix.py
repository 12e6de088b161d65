"""Copies feedback to Phoenix, as annotations of traces. See carry.py.

    python examples/bridges/to_phoenix.py --broker localhost:9092 --state phoenix.sqlite --url http://localhost:6006

The identifier of an annotation is the feedbackId, so a later revision replaces it. Set PHOENIX_API_KEY if needed.
"""

from __future__ import annotations

import os
from typing import Any

import httpx
from carry import annotator_of, explanation_of, parser_of, run

NAME = "user_feedback"


class Phoenix:
    def __init__(self, url: str, project: str, key: str | None) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=30)
        self._project = project

    def put(self, event: dict[str, Any]) -> bool:
        annotation = {
            "name": NAME,
            "annotator_kind": annotator_of(event),
            "trace_id": event["traceId"],
            "identifier": event["feedbackId"],
            "result": {"label": event["reaction"], "score": event["value"], "explanation": explanation_of(event)},
            "metadata": {name: event[name] for name in ("feedbackType", "agentId", "confidence", "tags")},
        }
        answer = self._http.post("/v1/trace_annotations", params={"sync": "true"}, json={"data": [annotation]})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return False
        answer.raise_for_status()
        return True

    def remove(self, feedback_id: str, trace_id: str) -> None:
        answer = self._http.delete(
            f"/v1/projects/{self._project}/trace_annotations",
            params={"name": NAME, "identifier": feedback_id, "delete_all": "true"},
        )
        if answer.status_code != httpx.codes.NOT_FOUND:
            answer.raise_for_status()


if __name__ == "__main__":
    parser = parser_of("Phoenix", "http://localhost:6006")
    parser.add_argument("--project", default="default", help="the project of the traces (default: %(default)s)")
    chosen = parser.parse_args()
    run(chosen, Phoenix(chosen.url, chosen.project, os.environ.get("PHOENIX_API_KEY")))
