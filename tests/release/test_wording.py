"""Form of docstrings over the whole tree, as CONTRIBUTING.md asks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("libs", "services", "training", "examples", "benchmarks", "tests", "proofs", "docgen")
INDIRECT_QUESTION = re.compile(r"(What|How|Whether|Which|Where|Who|Whose|When|Why)\b")


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
    docstrings = [(path, *docstring) for path, tree in trees(folder) for docstring in documented(tree)]
    assert len(docstrings) > 10, "the docstrings were not read"
    wrong = [
        f"{path}:{line} {text.splitlines()[0]}" for path, line, text in docstrings if INDIRECT_QUESTION.match(text)
    ]
    assert wrong == [], "begin with a verb, or with a noun phrase"
