"""Retention of the bridge's rows. Parked events expire separately (`parking.py`)."""

from __future__ import annotations

from chat_bridge.settings import ChatBridgeSettings
from servicekit.db.retention import Expiry


def expiries(settings: ChatBridgeSettings) -> list[Expiry]:
    """Return the expiries of the index, the journal and refused events.

    A reaction to an expired message finds no original.
    """
    return [
        Expiry("messages", settings.message_days, "r.stored_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("journal", settings.journal_days, "r.noted_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("refused", settings.refused_days, "r.refused_at < $1"),
    ]
