"""Report of a run that is up but cannot return one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.applications import Starlette

from servicekit.errors import StartError
from servicekit.web.server import HttpServer
from standalone.embedded.ports import free_port
from standalone.operations.report import report_of


async def test_a_run_that_cannot_report_says_where_to_look(tmp_path: Path) -> None:
    server = HttpServer("127.0.0.1", free_port())
    await server.start(Starlette())
    url = f"http://127.0.0.1:{server.port}/"
    (tmp_path / "run.json").write_text(json.dumps({"url": url, "token": "t"}))
    with pytest.raises(StartError, match=rf"\(status 404\): see {url}health/ready"):
        await report_of(tmp_path, print)
    await server.stop()
