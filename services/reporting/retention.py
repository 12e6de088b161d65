"""Retention of the read models' rows. Messages and feedback are kept unless a setting limits them."""

from __future__ import annotations

from reporting.settings import ReportingSettings
from servicekit.db.retention import Expiry


def expiries(settings: ReportingSettings) -> list[Expiry]:
    """Return the expiries of the read models.

    Rows of `forgotten` stop older announcements from restoring erased feedback. They are not needed once the topics'
    retention has removed those announcements. Revisions are compared as times: they are log times in milliseconds.
    """
    return [
        Expiry("messages", settings.message_days, "r.occurred_at < $1"),
        Expiry("feedbacks", settings.feedback_days, "r.occurred_at < $1"),
        Expiry("sessions", settings.feedback_days, "r.recorded_at < $1"),
        Expiry("deliveries", settings.webhook_days, "r.created_at < $1"),
        Expiry("forgotten", settings.tombstone_days, "r.revision < $1::bigint / 1000"),
    ]
