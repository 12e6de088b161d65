"""One table describes every reason of a dead letter; the code raises no other, and the documentation shows the same."""

from __future__ import annotations

import re
from pathlib import Path

from chat_bridge.dead_letter_reasons import REASONS as BRIDGE_REASONS
from servicekit.log.dead_letter_reasons import REASONS as PLATFORM_REASONS
from servicekit.log.dead_letter_reasons import meaning_of

ROOT = Path(__file__).parents[3]
RAISED = re.compile(
    r"""(?:Unreadable\(raw,\s*|_stand_in\(batches\.last,\s*|Outcome\.dead_lettered\(|Permanent\(|PermanentFailure\(|reason\s=\s|return\s|FUTURE:\sFinal\s=\s\()"([a-z_]+)"(?=[,)\n])"""
)
REASONS = {**PLATFORM_REASONS, **BRIDGE_REASONS}
NOT_REASONS = {"stored", "unchanged", "ignored", "parked"}


def test_every_reason_that_is_raised_is_in_the_table() -> None:
    files = [
        *(ROOT / "libs/servicekit/log").glob("*.py"),
        ROOT / "libs/servicekit/error_kinds.py",
        ROOT / "libs/contracts/log_time.py",
        *(ROOT / "services/chat_bridge").glob("*.py"),
    ]
    texts = [file.read_text() for file in files if file.name not in ("dead_letter_reasons.py", "outcome.py")]
    raised = {reason for text in texts for reason in RAISED.findall(text)}
    assert raised - NOT_REASONS == set(REASONS)


def test_the_docs_show_the_table() -> None:
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| (.+) \|$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE))
    assert {reason: f"{meaning} | {remedy}" for reason, (meaning, remedy) in REASONS.items()} == {
        reason: rows.get(reason) for reason in REASONS
    }


def test_a_reason_of_another_release_has_no_meaning() -> None:
    assert meaning_of("no_such_reason", REASONS) == ""
    meaning = meaning_of("future", REASONS)
    assert meaning.startswith("occurredAt is more than five minutes ahead of the log: set the producer's")
