"""The printed report of a failed test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST = """
import pytest

@pytest.fixture
def noisy():
    print("set up")
    yield
    print("torn down")

def test_it(noisy):
    print("called")
    assert 1 + 1 == 3
"""


def test_the_assertion_is_printed_last(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.support.assertion_last import pytest_runtest_makereport\n"
    )
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path).stdout
    report = said.split("short test summary info")[0].strip().splitlines()
    assert "set up" in report and "called" in report
    assert "torn down" not in report
    assert report[-2].endswith("test_it.py:12: assert (1 + 1) == 3"), said
