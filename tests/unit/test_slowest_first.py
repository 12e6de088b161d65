"""The order of tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.support.slowest_first import SLOWEST, pytest_collection_modifyitems

ROOT = Path(__file__).parents[2]


def test_the_slowest_files_exist() -> None:
    assert [name for name in SLOWEST if not (ROOT / name).is_file()] == []


def test_the_slowest_files_come_first_and_other_tests_keep_their_order() -> None:
    named = ["tests/b.py", SLOWEST[1], "tests/a.py", SLOWEST[0], SLOWEST[1]]
    items: list[Any] = [SimpleNamespace(location=(name, number)) for number, name in enumerate(named)]
    pytest_collection_modifyitems(items)
    assert [cast("Any", item).location[1] for item in items] == [3, 1, 4, 0, 2]
