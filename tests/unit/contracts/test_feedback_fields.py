"""A field of `feedback.created` is added in three places; these tests name the missing one."""

from __future__ import annotations

from dataclasses import fields

import pytest

from contracts.feedback import FeedbackCreated
from contracts.provenance import Provenance, ProvenanceFields
from feedback.model import Key, Payload
from reporting.model.projection import FeedbackRow

OF_THE_RECORD = {"event_id", "occurred_at", "sequence", "version", "feedback_id", "change", "revision", "recorded_at"}
OF_THE_RECORD |= {
    "origin",
    "feedback_type",
    "rn",
    "overruled_by",
    "overruled_reaction",
    "training_allowed",
    *Key._fields,
}
"""Fields that follow from the stored record, not from what was said."""
NOT_REPORTED = {"event_id", "sequence", "version", "change", "source_id", "causation_id"}
NOT_REPORTED |= {"question_message_id", "thread_id", "strategy", "attributes", "training_allowed"}
"""Fields that no report shows."""
SAID = {one.name for one in fields(Payload)} - {"provenance"}


def test_what_is_announced_is_said_somewhere() -> None:
    missing = set(FeedbackCreated.model_fields) - OF_THE_RECORD - SAID - set(Provenance.__slots__)
    assert not missing, f"add {missing} to Payload in services/feedback/model.py (or to libs/contracts/provenance.py)"
    unknown = SAID - set(FeedbackCreated.model_fields)
    assert not unknown, f"add {unknown} to FeedbackCreated in libs/contracts/feedback.py: nobody would hear of it"


def test_provenance_is_the_same_on_the_wire_and_inside() -> None:
    assert set(Provenance.__slots__) == set(ProvenanceFields.model_fields)


@pytest.mark.parametrize("name", sorted(set(FeedbackCreated.model_fields) - NOT_REPORTED))
def test_what_is_announced_is_reported(name: str) -> None:
    where = "FeedbackRow in services/reporting/model/projection.py, and services/reporting/sql/schema.sql"
    assert name in FeedbackRow._fields, f"add {name} to {where}; or to NOT_REPORTED here"
