"""Modules that are called pure: import-linter's contract covers them, and they load no I/O library."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORT_ROOTS = (ROOT / "libs", ROOT / "libs/agentkit", ROOT / "services")
CONTRACT = "Decisions are pure"
CLIENTS = (
    "aiokafka",
    "asyncpg",
    "confluent_kafka",
    "fastapi",
    "faststream",
    "httpx",
    "pymongo",
    "starlette",
    "uvicorn",
)
LOADED = """
import importlib, json, sys
names, clients = json.loads(sys.argv[1])
found = {}
for name in names:
    importlib.import_module(name)
    if loaded := sorted(set(clients) & sys.modules.keys()):
        found[name] = loaded
        break
print(json.dumps(found))
"""


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


def test_the_contract_follows_imports_through_other_modules() -> None:
    assert "allow_indirect_imports" not in contract()


def test_no_pure_module_loads_a_client_or_server() -> None:
    # The kit is excluded: its package exports the HTTP clients, so every module loads httpx.
    names = [name for name in pure_modules() if not name.startswith("agent_feedback_kit")]
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps([names, CLIENTS])],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(loaded.stdout) == {}
