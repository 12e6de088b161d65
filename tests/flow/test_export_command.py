"""`agent-feedback export` against a serving run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import serving, state_folder
from tests.support.warm_command import agent_feedback_warm


async def test_the_command_writes_a_file_and_its_manifest(tmp_path: Path) -> None:
    async with state_folder() as state, serving(state, "--sample"):
        where = ("--tenant", "demo", "--project", "support", "--state", state)
        ended = await agent_feedback_warm("export", "kto", "--out", tmp_path / "kto.jsonl", *where, "--json")
        assert ended.code == 0, ended.err
        lines = (tmp_path / "kto.jsonl").read_text("utf-8").splitlines()
        manifest = json.loads((tmp_path / "kto.jsonl.manifest.json").read_text("utf-8"))
        assert manifest == ended.facts
        assert (manifest["examples"], manifest["format"]) == (len(lines), "kto")
        assert len(lines) > 20
        assert {"prompt", "completion", "label"} <= json.loads(lines[0]).keys()
        wrong = await agent_feedback_warm("export", "kto", "--out", tmp_path / "no" / "such.jsonl", *where)
        assert (wrong.code, "cannot be written" in wrong.err) == (1, True)
        nowhere = tmp_path / "nowhere.jsonl"
        ended = await agent_feedback_warm("export", "kto", "--out", nowhere, *where[:3], "no-such", *where[4:])
        assert (ended.code, ended.out) == (1, "")
        assert "The project no-such of the tenant demo has no messages and no feedback." in ended.err
        assert not nowhere.exists()
