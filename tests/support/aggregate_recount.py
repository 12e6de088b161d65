"""Independent recount of `feedback.aggregated` from the records of `feedback.created`, without the services' code."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean
from typing import Any, NamedTuple

Place = tuple[str, str, str, str, str]
"""Tenant, project, conversation, turn and agent."""


class Raw(NamedTuple):
    """Record of the topic; `value` None erases the revisions up to `revision`."""

    key: str
    value: bytes | None
    revision: int = 0


def recounted(records: Iterable[Raw]) -> dict[Place, tuple[int, float]]:
    """Return the number and the mean reward (nine digits) of the verdicts that count, by agent and turn."""
    latest: dict[str, tuple[int, dict[str, Any] | None]] = {}
    for record in records:
        event = None if record.value is None else json.loads(record.value)
        revision = record.revision if event is None else event["revision"]
        if (
            (revision, event is None) >= (latest[record.key][0], latest[record.key][1] is None)
            if record.key in latest
            else True
        ):
            latest[record.key] = (revision, event)
    competing: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for _, event in latest.values():
        if event is None or event["feedbackType"] == "implicit":
            continue
        turn = (event["tenant"], event["project"], event["conversationId"], event["turnId"])
        if event["origin"] == "machine":
            competing[(*turn, "machine", event["feedbackId"])].append(event)
        elif event["origin"] == "reviewer" or event["source"] == "review":
            competing[(*turn, "review")].append(event)
        else:
            competing[(*turn, "person", event["userId"])].append(event)
    rewards: defaultdict[Place, list[float]] = defaultdict(list)
    for (tenant, project, conversation, turn_id, kind, *_), events in competing.items():
        events.sort(key=lambda event: (event["occurredAt"], event["feedbackId"]), reverse=True)
        silent = [
            event
            for event in events
            if event["reaction"] is None and kind == "person" and event["feedbackType"] == "explicit"
        ]
        for event in events:
            if event in silent:
                break
            if event["reaction"] is not None:
                rewards[tenant, project, conversation, turn_id, event["agentId"]].append(event["value"])
                break
    return {place: (len(values), round(fmean(values), 9)) for place, values in rewards.items()}


def announced(records: Iterable[Raw]) -> dict[Place, tuple[int, float]]:
    """Return the number and the mean reward of every aggregate at its highest revision, without cleared ones."""
    latest: dict[str, dict[str, Any]] = {}
    for record in records:
        event = json.loads(record.value or b"null")
        if record.key not in latest or event["revision"] > latest[record.key]["revision"]:
            latest[record.key] = event
    return {
        (one["tenant"], one["project"], one["conversationId"], one["turnId"], one["agentId"]): (
            one["count"],
            round(one["meanReward"], 9),
        )
        for one in latest.values()
        if one["change"] != "cleared"
    }
