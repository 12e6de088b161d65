"""Copies feedback to Langfuse, as scores of traces. See carry.py.

    export LANGFUSE_PUBLIC_KEY=pk-... LANGFUSE_SECRET_KEY=sk-...
    python examples/bridges/to_langfuse.py --broker localhost:9092 --state langfuse.sqlite --url https://langfuse.example

The id of a score is the feedbackId, so a later revision replaces it. A score may arrive before its trace.
"""

from __future__ import annotations

import os
from typing import Any

import httpx
from carry import explanation_of, parser_of, run

NAME = "user_feedback"


class Langfuse:
    def __init__(self, url: str, public_key: str, secret_key: str) -> None:
        self._http = httpx.Client(base_url=url, auth=(public_key, secret_key), timeout=30)

    def put(self, event: dict[str, Any]) -> bool:
        score = {
            "id": event["feedbackId"],
            "traceId": event["traceId"],
            "name": NAME,
            "value": event["value"],
            "dataType": "NUMERIC",
            "comment": explanation_of(event),
            "metadata": {name: event[name] for name in ("reaction", "origin", "feedbackType", "agentId", "confidence")},
        }
        self._http.post("/api/public/scores", json=score).raise_for_status()
        return True

    def remove(self, feedback_id: str, trace_id: str) -> None:
        answer = self._http.delete(f"/api/public/scores/{feedback_id}")
        if answer.status_code != httpx.codes.NOT_FOUND:
            answer.raise_for_status()


if __name__ == "__main__":
    chosen = parser_of("Langfuse", "http://localhost:3000").parse_args()
    run(chosen, Langfuse(chosen.url, os.environ["LANGFUSE_PUBLIC_KEY"], os.environ["LANGFUSE_SECRET_KEY"]))
