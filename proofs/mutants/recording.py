"""Plugin of pytest that records the lines of the product that each test runs: `-p proofs.mutants.recording`.

The environment variable MUTANTS_COVERAGE names the data files' common prefix; each process writes its own file,
including processes that a test starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

_ROOTS = ("libs", "services")
OF_FILE = "::*"
"""End of a context that names a file and means all of its tests."""
_OTHER_PROCESSES = """[run]
data_file = ${MUTANTS_COVERAGE}
parallel = true
source = %s
context = ${MUTANTS_TEST}
sigterm = true
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""
"""Configuration that coverage reads in every Python process that finds COVERAGE_PROCESS_START."""


class Recording:
    """Coverage of one process, with the running test as context."""

    def __init__(self, prefix: str) -> None:
        self._coverage = coverage.Coverage(
            data_file=prefix, data_suffix=True, source=list(_ROOTS), config_file=False, messages=False
        )
        self._coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self._others = Path(prefix).with_name("subprocess.rc")
        self._others.write_text(_OTHER_PROCESSES % ",".join(str(Path(root).resolve()) for root in _ROOTS), "utf-8")
        self._durations: dict[str, float] = {}
        self._durations_file = Path(f"{prefix}.{os.getpid()}.json")
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Attribute the lines that run from set-up to teardown to `item`."""
        self._coverage.switch_context(item.nodeid)
        os.environ.update(COVERAGE_PROCESS_START=str(self._others), MUTANTS_TEST=item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")
            del os.environ["COVERAGE_PROCESS_START"], os.environ["MUTANTS_TEST"]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        """Attribute the lines of a fixture that tests share to all tests of the file."""
        if fixturedef.scope not in ("class", "module"):
            return (yield)
        before = os.environ.get("MUTANTS_TEST", "")
        self._coverage.switch_context(request.node.nodeid.partition("::")[0] + OF_FILE)
        try:
            return (yield)
        finally:
            self._coverage.switch_context(before)

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
