"""The assumed writer of a message for which a caller of `detect` names none."""

from __future__ import annotations

import pytest

from detector.model import Message, Role
from inference.detection import _by_a_participant


def said(name: str, sender: str, role: Role = "human") -> Message:
    return Message(name, name, sender, role, None if role == "human" else sender, "text", 1)


@pytest.mark.parametrize(
    ("before", "writer"),
    [
        ([], "runtime"),
        ([said("a1", "bot", "agent")], "runtime"),
        ([said("q1", "ann"), said("a1", "bot", "agent")], "ann"),
        ([said("q1", "ann"), said("q2", "ben"), said("a2", "bot", "agent")], "ben"),
        ([said("q1", "runtime"), said("q2", "ben")], "runtime"),
    ],
)
def test_a_caller_who_never_wrote_there_asks_for_the_last_person_who_did(before: list[Message], writer: str) -> None:
    assert _by_a_participant(said("m", "runtime"), before).sender_id == writer
