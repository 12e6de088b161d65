"""Modules that a command loads: one that needs no server or detector starts without their libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SERVERS = {"aiokafka", "asyncpg", "confluent_kafka", "fastapi", "faststream", "pymongo", "uvicorn"}
DETECTOR = {"numpy", "onnxruntime", "re2", "tokenizers", "wordllama"}
CLIENTS = {"agent_feedback_kit", "contracts.base", "httpx", "structlog", "uvloop"}
LOADED = """
import json, sys
from standalone.__main__ import main
sys.argv = ["agent-feedback", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)))
"""
TO_A_SERVICE = ["--tenant", "acme", "--project", "support", "--state", "nowhere"]


@pytest.mark.parametrize(
    ("arguments", "code", "needless"),
    [
        (["--help"], 0, SERVERS | DETECTOR | CLIENTS),
        (["up", "--replay", "no/such/file"], 2, SERVERS | DETECTOR | CLIENTS),
        (["run", "nobody"], 2, SERVERS | DETECTOR | CLIENTS),
        (["up", "--host", "10.0.0.1"], 2, SERVERS | DETECTOR | CLIENTS),
        (["topics", "--json"], 0, SERVERS | DETECTOR),
        (["export", "kto", "--out", "out.jsonl", *TO_A_SERVICE], 3, SERVERS | DETECTOR),
        (["erase", "--tenant", "acme", "--user", "ann", "--yes", "--state", "nowhere"], 3, SERVERS | DETECTOR),
        (["explain", "--rules"], 0, SERVERS),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_a_command_loads_only_its_own_libraries(
    arguments: list[str], code: int, needless: set[str], tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == code, ended.stderr
    loaded = set(json.loads(ended.stdout.splitlines()[-1]))
    assert "typer" in loaded
    assert sorted(needless & loaded) == []
