"""axe-core in a browser's page: violations of WCAG 2.2, levels A and AA. npm fetches it into .agent-feedback."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

WANTED: Final = Path(__file__).parents[1] / "pages"
FETCHED: Final = Path(__file__).parents[2] / ".agent-feedback" / "page-tests"
RULES: Final = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}


@cache
def page_packages() -> Path:
    """Return the folder with the packages of tests/pages. Skips the test without npm or its registry."""
    FETCHED.mkdir(parents=True, exist_ok=True)
    with FETCHED.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another worker may be fetching them
        return _fetched()


def _fetched() -> Path:
    wanted = (WANTED / "package-lock.json").read_text("utf-8")
    lock, packages = FETCHED / "package-lock.json", FETCHED / "node_modules"
    if not packages.exists() or lock.read_text("utf-8") != wanted:
        if shutil.which("npm") is None:
            pytest.skip("needs npm to fetch axe-core and oidc-provider")
        for name in ("package.json", "package-lock.json"):
            shutil.copy(WANTED / name, FETCHED)
        done = subprocess.run(["npm", "ci", "--silent"], cwd=FETCHED, capture_output=True, check=False, timeout=120)
        if done.returncode:
            pytest.skip("npm cannot fetch axe-core and oidc-provider")
    return packages


@cache
def axe_script() -> str:
    """Return axe-core's script."""
    return (page_packages() / "axe-core" / "axe.min.js").read_text("utf-8")


async def violations(page: Any) -> list[str]:
    """Return each violated rule with an element that violates it."""
    await page.evaluate(axe_script())
    found = await page.evaluate("rules => axe.run(document, { runOnly: rules })", RULES)
    assert found["passes"], "axe-core checked nothing"
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found["violations"] for node in rule["nodes"]]
