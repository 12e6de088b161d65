"""Warnings fail a test, whichever code raises them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
PLANTED = """
import asyncio
import warnings

async def test_no_warning():
    pass

async def test_no_await():
    asyncio.sleep(0)

async def test_deprecation():
    warnings.warn('old', DeprecationWarning)
"""


def test_a_warning_fails_a_test(tmp_path: Path) -> None:
    file = tmp_path / "test_planted.py"
    file.write_text(PLANTED, "utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-c", str(PYPROJECT), "--rootdir", str(tmp_path), str(file)]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    outcomes = dict(re.findall(r"::(\w+) (PASSED|FAILED) ", done.stdout))
    assert outcomes == {"test_no_warning": "PASSED", "test_no_await": "FAILED", "test_deprecation": "FAILED"}
