"""The platform's public interface: services import each of its names and no other name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import servicekit

ROOT = Path(__file__).parents[2]
SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
MOST_NAMES = 27
"""Number of public names: lower it with each one that goes."""


def imported_from_servicekit(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "servicekit":
            yield from (one.name for one in node.names)


def test_the_type_checker_reads_the_same_table() -> None:
    tree = ast.parse(Path(servicekit.__file__).read_text("utf-8"))
    typed = {
        one.name: str(node.module).removeprefix("servicekit.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("servicekit.")
        for one in node.names
    }
    assert typed == servicekit.PUBLIC_NAMES


@pytest.mark.parametrize("name", servicekit.PUBLIC_NAMES)
def test_each_name_is_loaded_from_its_module(name: str) -> None:
    assert getattr(servicekit, name) is not None


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Subscriptoin'"):
        getattr(servicekit, "Subscriptoin")  # noqa: B009 # the type checker knows that it is missing


def test_services_import_every_name_and_no_other() -> None:
    used = {
        name
        for service in SERVICES
        for path in (ROOT / "services" / service).rglob("*.py")
        for name in imported_from_servicekit(path)
    }
    assert used == servicekit.PUBLIC_NAMES.keys()
    assert len(used) <= MOST_NAMES
