"""Every periodic task after a first failure, and next to a task that hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic

import pytest

from servicekit.errors import Unavailable
from servicekit.service import Service, ServiceContext
from standalone.embedded.memory_broker import MemoryBroker
from tests.support.hand_clock import HandClock
from tests.support.running_stack import running_stack
from tests.support.waits import PATIENCE_SECONDS

TASKS = {
    "chat_bridge": ["retention", "sweep", "lag"],
    "feedback": [
        "retention",
        "retention",
        "session_announcements",
        "session_retention",
        "full_buckets",
        "lag",
    ],
    "inference": ["retention", "lag"],
    "reporting": [
        "retention",
        "rollups",
        "issues",
        "artifacts",
        "alerts",
        "deliveries",
        "feedback metrics",
        "lag",
    ],
}
"""Periodic tasks of the services, with all settings that enable one."""


class Trouble(Exception):
    """Error that counts as a bug, not as an outage."""


@pytest.mark.parametrize("error", [Unavailable("the database"), Trouble()], ids=repr)
async def test_every_task_of_every_service_is_run_again_after_a_failure(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    hooks = tmp_path / "webhooks.toml"
    hooks.write_text('[[endpoint]]\nname = "learner"\nurl = "http://127.0.0.1:9/"\ntenant = "acme"\n'
                     'secrets = ["HOOK_SECRET"]\nprivate = true\n', "utf-8")  # fmt: skip
    (tmp_path / "artifacts").mkdir()
    for name, value in {
        "HOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "REPORTING_WEBHOOKS": str(hooks),
        "REPORTING_ARTIFACT_STORE_URL": f"file://{tmp_path / 'artifacts'}",
        "REPORTING_READ_DATABASE_URL": "postgresql://127.0.0.1:9/none",
    }.items():
        monkeypatch.setenv(name, value)
    runs: dict[tuple[str, str, int], int] = {}
    added = Service.every

    def every(self: Service, name: str, _seconds: float, _work: object, delay: float = 0.0) -> None:
        key = self.name, name, len(runs)
        runs[key] = 0

        async def fails_first() -> None:
            runs[key] += 1
            if runs[key] == 1:
                raise error

        added(self, name, 0.05, fails_first)

    monkeypatch.setattr(Service, "every", every)
    async with running_stack(postgres_url):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while min(runs.values()) < 3:
                await asyncio.sleep(0.02)
    found: dict[str, list[str]] = {}
    for service, name, _ in runs:
        found.setdefault(service, []).append(name)
    assert {name: sorted(tasks) for name, tasks in found.items()} == {
        name: sorted(tasks) for name, tasks in TASKS.items()
    }


async def test_a_task_that_hangs_holds_up_no_other_is_shown_and_ends_with_the_service() -> None:
    clock, runs = HandClock(), 0
    with MemoryBroker({}) as broker:
        service = Service("chat_bridge", ServiceContext(broker.bootstrap, clock=clock))
        hanging, forever = asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            hanging.set()
            await forever.wait()

        async def run() -> None:
            nonlocal runs
            runs += 1

        service.every("hangs", 0.001, hang)
        service.every("works", 0.001, run)
        await service.start()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await hanging.wait()
                while runs < 5:
                    await asyncio.sleep(0.001)
            clock.forward(599)
            assert service.warnings == []
            clock.forward(1)
            assert [warning for warning in service.warnings if "'hangs'" in warning] == [
                "chat_bridge: the task 'hangs' has been running for 10 minutes"
            ]
        finally:
            began = monotonic()
            await service.stop()
        assert monotonic() - began < PATIENCE_SECONDS
