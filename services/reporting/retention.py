"""Retention of reporting's rows. Chat texts and feedback are kept unless a setting limits them: reports show them."""

from __future__ import annotations

from reporting.settings import ReportingSettings
from servicekit.db.retention import Expiry


def expiries(settings: ReportingSettings) -> list[Expiry]:
    """Return the expiries of the read models.

    `forgotten` keeps an older announcement of an erased feedback from coming back; after the topics' retention there
    is none. Revisions follow the log's clock, in milliseconds.
    """
    return [
        Expiry("messages", settings.message_days, "r.occurred_at < $1"),
        Expiry("feedbacks", settings.feedback_days, "r.occurred_at < $1"),
        Expiry("sessions", settings.feedback_days, "r.recorded_at < $1"),
        Expiry("deliveries", settings.webhook_days, "r.created_at < $1"),
        Expiry("forgotten", settings.tombstone_days, "r.revision < $1::bigint / 1000"),
    ]
