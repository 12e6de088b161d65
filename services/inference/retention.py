"""Retention of inference's rows."""

from __future__ import annotations

from inference.settings import InferenceSettings
from servicekit.db.retention import Expiry

_IN_CONVERSATION = "n.conversation_id = r.conversation_id and n.tenant = r.tenant and n.project = r.project"


def expiries(settings: InferenceSettings) -> list[Expiry]:
    """Return the expiry rules of conversations, turns, verdicts, the language model's answers and outcomes.

    A conversation expires as a whole after its last message, because `evaluation` counts its messages and must not
    decrease while they may be judged.
    """
    moment = "to_timestamp($1::bigint / 1e6)"
    quiet = f"not exists (select from messages n where {_IN_CONVERSATION} and n.stored_at >= {moment})"
    return [
        Expiry("messages", settings.conversation_days, f"r.stored_at < {moment} and {quiet}"),
        Expiry("verdicts", settings.turn_days, f"r.stored_at < {moment} and {quiet}"),
        Expiry("turns", settings.turn_days, f"r.stored_at < {moment} and {quiet}"),
        Expiry("gate_answers", settings.gate_answer_days, f"r.settled_at < {moment}"),
        Expiry("journal", settings.journal_days, f"r.noted_at < {moment}"),
    ]
