"""The button of a page without any project, which loads the sample into a serving run."""

from __future__ import annotations

import asyncio

import httpx

from standalone.embedded.ports import free_port
from tests.flow.test_up_issuer import program, until_ready
from tests.support.command import COMMAND, HANG_SECONDS, state_folder

BUTTON = "Load 30 days of sample conversations"


async def test_the_button_loads_the_sample_into_a_serving_run() -> None:
    port = free_port()
    async with (
        state_folder() as state,
        program(str(COMMAND), "up", "--port", str(port), "--state", str(state), stdout=asyncio.subprocess.DEVNULL),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=HANG_SECONDS) as http,
    ):
        http.headers["Authorization"] = f"Bearer {await until_ready(http, state)}"
        waiting = (await http.get("/")).text
        assert "Waiting for your first event" in waiting
        assert BUTTON in waiting
        for _ in range(2):  # a second press changes nothing
            answer = await http.post("/dashboard/sample")
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert BUTTON not in (await http.get("/")).text
        async with asyncio.timeout(HANG_SECONDS):
            while not (state / "sample.told").exists():
                await asyncio.sleep(0.2)
        assert "trip-planner" in (await http.get("/")).text
        assert "train-times" not in (await http.get("/dashboard/alerts")).text
        assert "trips-below-70" in (await http.get("/dashboard/alerts")).text
