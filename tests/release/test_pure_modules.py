"""Modules that are called pure: import-linter's contract covers them, and they load no I/O library."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORT_ROOTS = (ROOT / "libs", ROOT / "libs/agentkit", ROOT / "services")
CONTRACT = "Decisions are pure"


def contract() -> dict[str, object]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["name"] == CONTRACT)


def pure_modules() -> list[str]:
    names = contract()["source_modules"]
    assert isinstance(names, list)
    return names


def modules_called_pure() -> set[str]:
    found = set()
    for root in IMPORT_ROOTS:
        for path in root.rglob("*.py"):
            if root / "agentkit" in path.parents:
                continue
            docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            if re.search(r"\bNo I/O\b", docstring):
                found.add(".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"))
    return found


def test_every_module_that_says_pure_is_in_the_contract() -> None:
    held = pure_modules()
    called = modules_called_pure()
    assert len(called) > 40, "the docstrings were not found"
    missing = {name for name in called if not any(name == one or name.startswith(f"{one}.") for one in held)}
    assert not missing, f"add them to the contract {CONTRACT!r} in pyproject.toml"
