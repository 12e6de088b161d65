"""Form of docstrings and names over the whole tree, as CONTRIBUTING.md asks for."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("libs", "services", "training", "examples", "benchmarks", "tests", "proofs", "docgen")
PRODUCT = ("libs", "services")
INDIRECT_QUESTION = re.compile(r"(What|How|Whether|Which|Where|Who|Whose|When|Why)\b")
SHARED_NAMES = {
    "ChatEvent": "the kit builds what the contract parses, and may not import it",
    "IndexedMessage": "a row of each service's own message index; services never import each other",
    "Message": "a chat message in the detector, a record in the platform; neither imports the other",
    "MessageKey": "the same four ids in two services that never import each other",
    "NewMessage": "the kit's arguments have the name of the request's schema in the HTTP API",
    "Turn": "a turn that an agent's runtime shows, and a turn of inference's index",
    "TurnKey": "the same four ids in three services that never import each other",
}
"""Class names that more than one module defines, each with the reason."""
METAPHORS = {
    "AlertBoard",
    "AlertDesk",
    "AlertStanding",
    "AlertStandings",
    "AskAgain",
    "Behind",
    "Holdback",
    "Judged",
    "Lane",
    "Way",
    "announced_from",
    "Heard",
    "Loans",
    "Look",
    "Looked",
    "QuickPool",
    "Reach",
    "Reached",
    "Seldom",
    "Stretch",
    "Surroundings",
    "adopting",
    "beheld",
    "buried",
    "doomed",
    "hear",
    "mending",
    "misfit",
    "open_as_it_is",
    "plan_anew",
    "told_apart",
    "travel",
}
"""Names of classes, functions, parameters and modules for which the field has a term (CONTRIBUTING.md, Style)."""


def trees(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "__pycache__" not in path.parts and "node_modules" not in path.parts:
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def documented(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_opens_with_an_indirect_question(folder: str) -> None:
    found = [(path, *one) for path, tree in trees(folder) for one in documented(tree)]
    assert len(found) > 10, "the docstrings were not found"
    wrong = [f"{path}:{line} {text.splitlines()[0]}" for path, line, text in found if INDIRECT_QUESTION.match(text)]
    assert wrong == [], "begin with a verb, or with a noun phrase"


def test_the_same_class_name_is_not_given_twice() -> None:
    places = defaultdict(list)
    for folder in PRODUCT:
        for path, tree in trees(folder):
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(str(path))
    shared = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert len(places) > 300, "the classes were not found"
    assert shared.keys() == SHARED_NAMES.keys(), shared


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the classes, functions and parameters that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def test_no_name_is_a_metaphor() -> None:
    names = [
        (path, name) for folder in PRODUCT for path, tree in trees(folder) for name in (path.stem, *defined_names(tree))
    ]
    assert len(names) > 5_000, "the names were not found"
    wrong = [f"{path}: {name}" for path, name in names if name.removeprefix("_") in METAPHORS]
    assert wrong == [], "name a class for what it is, and a function for what it does"
