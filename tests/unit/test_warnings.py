"""Warnings fail a test, whichever code raises them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        ("    pass", True),
        ("    asyncio.sleep(0)  # no await", False),
        ("    warnings.warn('old', DeprecationWarning)", False),
    ],
)
def test_a_warning_fails_a_test(tmp_path: Path, body: str, passes: bool) -> None:
    file = tmp_path / "test_planted.py"
    file.write_text(f"import asyncio\nimport warnings\n\nasync def test_planted():\n{body}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(PYPROJECT), "--rootdir", str(tmp_path), str(file)]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == (0 if passes else 1), done.stdout
