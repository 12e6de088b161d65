"""Retention of the feedback service's rows. Feedback records have no limit, because the ledger is complete."""

from __future__ import annotations

from feedback.settings import FeedbackSettings
from servicekit.db.retention import Expiry


def expiries(settings: FeedbackSettings) -> list[Expiry]:
    """Return the expiries of turn registry, journal, session ratings and the erasures' status, all in `database_url`.

    The erasure ledger itself never expires: it prevents a replay from restoring an erased person's words.
    """
    return [
        Expiry("turns", settings.turn_days, "r.stored_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("people", settings.turn_days, "r.stored_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("journal", settings.journal_days, "r.noted_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("session_feedback", settings.session_days, "r.recorded_at < to_timestamp($1::bigint / 1e6)"),
        Expiry("erasure_receipts", settings.erasure_status_days, "r.confirmed_at < $1"),
        Expiry("erasure_requests", settings.erasure_status_days, "r.requested_at < $1"),
    ]


def store_expiries(settings: FeedbackSettings) -> list[Expiry]:
    """Return the expiry of stubs in a PostgreSQL store: the ids that remain of an erased person's feedback.

    A stub prevents its revision from decreasing. Revisions follow the log's clock (milliseconds). Once the topics have
    deleted the records up to the erasure, a record created again has a greater revision without the stub.
    """
    return [Expiry("feedback", settings.stub_days, "r.slots is null and r.revision < $1::bigint / 1000")]
