"""Pytest hook that prints the failed assertion of a test last, after its captured output."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Repeat the failure below the captured sections, and drop those of a teardown that passed."""
    report = yield
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if report.when == "teardown" and report.passed:
        report.sections = []
    elif report.failed and report.sections and crash is not None:
        report.sections.append(("Failure", f"{crash.path}:{crash.lineno}: {crash.message}"))
    return report
