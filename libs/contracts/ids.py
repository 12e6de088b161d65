"""Deterministic ids and record keys. Every process derives the same id from the same values."""

from __future__ import annotations

from functools import lru_cache
from json.encoder import encode_basestring
from uuid import UUID, uuid5

from contracts.murmur2 import murmur2

NAMESPACE = UUID("6f0c1a52-3f43-5d0e-9a38-9d6b1f1f7c55")
"""Namespace of the uuid5 ids that `derived_id` returns."""


def canonical(*parts: str | int) -> str:
    """Return the text from which an id is derived: the parts as a JSON array without spaces or ASCII escapes."""
    return f"[{','.join([encode_basestring(part) if isinstance(part, str) else str(part) for part in parts])}]"


def derived_id(*parts: str | int) -> UUID:
    """Return the id derived from the given parts, a UUID of version 5."""
    return uuid5(NAMESPACE, canonical(*parts))


@lru_cache(maxsize=4_096)
def feedback_id(
    tenant: str, project: str, conversation_id: str, source: str, user_id: str, agent_id: str, source_id: str
) -> UUID:
    """Return the id of a feedback record, derived from its key fields."""
    return derived_id(tenant, project, conversation_id, source, user_id, agent_id, source_id)


def revision_event_id(feedback_id: UUID, revision: int) -> str:
    """Return the event id for a revision of a feedback record. It is the same each time the revision is announced."""
    return str(uuid5(feedback_id, str(revision)))


def conversation_key(tenant: str, project: str, conversation_id: str) -> str:
    """Return the record key of a conversation, which keeps its events in order on one partition."""
    return f"{tenant}/{project}/{conversation_id}"


@lru_cache(maxsize=65_536)
def partition_of(key: str, partitions: int) -> int:
    """Return the partition for a key, from 0 to `partitions - 1`.

    Like Kafka's Java client, it uses the murmur2 hash of the key in UTF-8.
    """
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions
