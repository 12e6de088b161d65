"""Deterministic ids and record keys: the same facts give the same id in every process."""

from __future__ import annotations

import json
from functools import lru_cache
from uuid import UUID, uuid5

from contracts.murmur2 import murmur2

NAMESPACE = UUID("6f0c1a52-3f43-5d0e-9a38-9d6b1f1f7c55")
"""The uuid5 namespace of every id made from a JSON array."""


def canonical(*parts: str | int) -> str:
    """Return the JSON array that ids are made from: no blanks, non-ASCII as it is."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def derived_id(*parts: str | int) -> UUID:
    """Return the uuid5 of the JSON array of `parts`."""
    return uuid5(NAMESPACE, canonical(*parts))


def feedback_id(
    tenant: str, project: str, conversation_id: str, *, source: str, user_id: str, agent_id: str, source_id: str
) -> UUID:
    """Return the id of the one feedback that these facts name."""
    return derived_id(tenant, project, conversation_id, source, user_id, agent_id, source_id)


def revision_event_id(feedback_id: UUID, revision: int) -> str:
    """Return the event id of one revision of a feedback, however often it is announced."""
    return str(uuid5(feedback_id, str(revision)))


def conversation_key(tenant: str, project: str, conversation_id: str) -> str:
    """Return the record key that keeps a conversation's events in order."""
    return f"{tenant}/{project}/{conversation_id}"


@lru_cache(maxsize=65_536)
def partition_of(key: str, partitions: int) -> int:
    """Return the partition of `key` among `partitions`: murmur2 of its UTF-8 bytes, as Kafka's Java client counts."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions
