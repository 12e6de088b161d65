"""Plugin of pytest that records the lines of the product that each test runs: `-p mutants.recording`.

The environment variable MUTANTS_COVERAGE names the data files' common prefix; each process writes a file of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

_ROOTS = ("libs", "services")


class Recording:
    """Coverage of one process, with the running test as context."""

    def __init__(self, prefix: str) -> None:
        self._coverage = coverage.Coverage(
            data_file=prefix, data_suffix=True, source=list(_ROOTS), config_file=False, messages=False
        )
        self._durations: dict[str, float] = {}
        self._durations_file = Path(f"{prefix}.{os.getpid()}.json")
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Attribute the lines that run from set-up to teardown to `item`."""
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._durations[report.nodeid] = self._durations.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._durations_file.write_text(json.dumps(self._durations), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    controls_workers = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    if (prefix := os.environ.get("MUTANTS_COVERAGE")) and not controls_workers:
        config.pluginmanager.register(Recording(prefix), "mutants-recording")
