"""Contents of a run's state folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from standalone.state import StateFolder


@pytest.mark.parametrize("left", [None, "", " \n"])
def test_a_token_file_that_holds_none_is_written_afresh(tmp_path: Path, left: str | None) -> None:
    with StateFolder(tmp_path / "state") as state:
        file = state.path / "token"
        if left is not None:
            file.write_text(left)
        token = state.token(None)
        assert len(token) > 20
        assert (file.read_text(), file.stat().st_mode & 0o777) == (token, 0o600)
        assert state.token(None) == token
        assert state.token("given") == "given"


def test_what_a_run_announces_with_its_token_is_its_owners(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state") as state:
        state.announce({"token": "secret"})
        file = state.path / "run.json"
        assert (json.loads(file.read_text()), file.stat().st_mode & 0o777) == ({"token": "secret"}, 0o600)
    assert not file.exists()
