"""Order of tests: the slowest files first, so that no worker runs one of them alone at the end."""

from __future__ import annotations

from typing import Final

import pytest

SLOWEST: Final = (
    "tests/flow/test_openapi.py",
    "tests/flow/test_command_line.py",
    "tests/flow/test_route_answers.py",
    "tests/flow/test_import.py",
    "tests/flow/test_subject_access.py",
    "tests/flow/test_log_commands.py",
    "tests/flow/test_lost_database.py",
    "tests/flow/test_subject_access.py",
)
"""Files whose slowest test or sum of tests took the most time (`pytest --durations=0`)."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of SLOWEST to the front."""
    rank = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: rank.get(item.location[0], len(rank)))
