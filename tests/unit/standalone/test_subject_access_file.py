"""The file of a subject access: readable by its owner only, and never in the place of another file."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from standalone.operations import log_access, subject_access
from tests.support.command import Ended, agent_feedback_here

ARCHIVE = {
    "tables": {"reporting.messages": [{"content": "said"}], "reporting.replies": []},
    "feedback_store": [{}, {}],
    "log": {"chat.message.ingested": [{}]},
    "unreadable_records": [],
    "objects": [{"content": "\ud800"}],
}


@pytest.fixture(autouse=True)
def archive(monkeypatch: pytest.MonkeyPatch) -> None:
    async def archive_of(*_: Any) -> dict[str, Any]:
        return ARCHIVE

    monkeypatch.setattr(subject_access, "archive_of", archive_of)
    monkeypatch.setattr(log_access, "target_of", lambda *_: None)


def written(out: Path, *more: str) -> Ended:
    arguments = ("subject-access", "--tenant", "acme", "--user", "ann", "-o", out, "--state", out.parent / "none")
    return agent_feedback_here(*arguments, "--database", "postgresql://", *more)


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ended = written(tmp_path / "ann.json", "--json")
    finally:
        os.umask(before)
    assert ended.code == 0, ended.err
    assert stat.S_IMODE((tmp_path / "ann.json").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "ann.json").read_text("utf-8")) == ARCHIVE
    assert ended.facts["rows"] == {
        "reporting.messages": 1, "feedback store": 2, "log: chat.message.ingested": 1, "object store": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("broker", "database"), [((), "postgresql://up"), (("--broker", "kafka:9092"), None)])
def test_a_local_run_is_not_read_beside_another_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broker: tuple[str, ...], database: str | None
) -> None:
    (tmp_path / "run.json").write_text('{"database": "postgresql://up"}')
    archive_of = AsyncMock(return_value=ARCHIVE)
    monkeypatch.setattr(subject_access, "archive_of", archive_of)
    of = ("subject-access", "--tenant", "acme", "--user", "ann", "-o", tmp_path / "ann.json", "--state", tmp_path)
    assert agent_feedback_here(*of, *broker).code == 0
    assert archive_of.await_args is not None and archive_of.await_args.args[2] == database


@pytest.mark.parametrize("kind", ["file", "link", "link to nothing"])
def test_no_other_file_is_replaced_or_followed(tmp_path: Path, kind: str) -> None:
    out, other = tmp_path / "ann.json", tmp_path / "other"
    if kind != "link to nothing":
        other.write_text("other")
    if kind == "file":
        out.write_text("mine")
    else:
        out.symlink_to(other)
    ended = written(out)
    assert ended.code != 0
    assert out.is_symlink() or out.read_text() == "mine"
    assert other.read_text() == "other" if other.exists() else kind == "link to nothing"
    assert "said" not in ended.out + ended.err


def test_an_unwritable_folder_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    ended = written(tmp_path / "missing" / "ann.json")
    assert ended.code == 1
    assert "cannot be written" in ended.err and "Traceback" not in ended.err
