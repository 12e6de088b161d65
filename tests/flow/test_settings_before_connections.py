"""Files and keys that settings name are read before a service connects to its broker and database."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporting.service import PROGRAM
from servicekit.errors import StartError
from servicekit.launcher import _started


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("REPORTING_WEBHOOKS", "endpoint = 1", "endpoint"),
    ],
)
async def test_invalid_files_and_keys_are_reported_without_a_broker(
    variable: str, text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connects(*_: object, **__: object) -> None:
        pytest.fail("the broker was asked before the settings were read")

    monkeypatch.setattr("servicekit.launcher.ensure_topics", connects)
    file = tmp_path / "settings.toml"
    file.write_text(text, "utf-8")
    monkeypatch.setenv(variable, str(file) if text else "short")
    with pytest.raises(StartError, match=why):
        await _started(PROGRAM)
