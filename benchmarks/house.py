"""Figures of the code's structure, as a Markdown table: `python -m benchmarks.house`. Needs git.

It also follows one reaction through the bridge and one message through the detector (`benchmarks/call_path.py`).
`--sample SEED` prints random docstrings, sentences of the documentation and commit subjects for a reader to mark
(`benchmarks/wording_sample.py`).
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.call_path import path_of_message, path_of_reaction
from benchmarks.wording_sample import draw, pages_of, sentences_of, subjects_of

ROOT = Path(__file__).parents[1]
SERVICES = ("chat_bridge", "feedback", "inference", "reporting")
SQL = re.compile(r"\s*(--.*\n\s*)*(select|insert into|update|delete from|with|create|alter|drop|comment on|from)\s")
STATEMENT = re.compile(r"^-- name: ", re.MULTILINE)
OPENINGS = re.compile(r"(What|How|Whether|Which|Where|Who|Why)\b")
Figure = tuple[str, str]


def parsed(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the Python modules in `folder` that git tracks, with their syntax trees."""
    names = subprocess.run(
        ["git", "ls-files", f"{folder}/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    for name in names:
        path = ROOT / name
        if path.exists():
            yield path, ast.parse(path.read_text("utf-8"))


def of_servicekit(tree: ast.Module) -> set[tuple[str, str]]:
    """Return (module, name) for everything that a module imports from servicekit."""
    return {
        (node.module, one.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "servicekit"
        for one in node.names
    }


def imports(tree: ast.Module) -> int:
    """Return the number of import statements, excluding `from __future__`."""
    return sum(
        isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__")
        for node in tree.body
    )


def sql_lines(tree: ast.Module) -> int:
    """Return the number of lines in multi-line string literals that begin with an SQL statement."""
    return sum(
        node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None
        if node.end_lineno > node.lineno and SQL.match(_text(node))
    )


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    value = node.value if isinstance(node, ast.Constant) else getattr(next(iter(node.values), None), "value", "")
    return value if isinstance(value, str) else ""


def docstrings(tree: ast.Module) -> list[str]:
    """Return the docstrings of a module and of its classes and functions."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
    return [one for one in found if one]


def figures() -> Sequence[Figure]:
    """Return the figures, each as a name and a value."""
    trees = {path: tree for folder in ("libs", "services") for path, tree in parsed(folder)}
    known: set[tuple[str, str]] = set()
    for service in SERVICES:
        for path, tree in trees.items():
            if ROOT / "services" / service in path.parents:
                known |= of_servicekit(tree)
    modules = {module for module, _ in known}
    roots = [imports(trees[ROOT / "services" / service / "service.py"]) for service in SERVICES]
    sql = [lines for tree in trees.values() if (lines := sql_lines(tree))]
    texts = [text for tree in trees.values() for text in docstrings(tree)]
    opened = sum(OPENINGS.match(text) is not None for text in texts)
    classes = Counter(node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    pure = next(one for one in contracts if one["name"] == "Decisions are pure")["source_modules"]
    statements = "".join(path.read_text("utf-8") for path in sorted(ROOT.glob("[ls]*/**/sql/*.sql")))
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in trees)
    return (
        (
            "servicekit names that the services import",
            f"{len(known)}, from modules: {len(modules)}",
        ),
        ("import statements of the services' pages", ", ".join(map(str, roots))),
        ("modules and packages held to be pure", str(len(pure))),
        ("SQL inside Python", f"{sum(sql)} lines in {len(sql)} files"),
        (
            "SQL statements in files",
            f"{len(STATEMENT.findall(statements)):,} in {len(statements.splitlines()):,} lines",
        ),
        ("docstrings that open with What, How, Whether, Which, Where, Who or Why", f"{opened} of {len(texts)}"),
        ("class names defined more than once", str(sum(count > 1 for count in classes.values()))),
        ("path of a reaction through the bridge", str(path_of_reaction())),
        ("path of a message inside the detector", str(path_of_message())),
        ("files in git / lines of product Python", f"{len(files)} / {lines:,}"),
    )


def print_sample(seed: str) -> None:
    """Print a numbered sample of the wording, one text per line."""
    trees = [tree for folder in ("libs", "services") for _, tree in parsed(folder)]
    texts = (text for tree in trees for text in docstrings(tree))
    sentences = (sentence for page in pages_of(ROOT) for sentence in sentences_of(page))
    for kind, drawn in draw(seed, texts, sentences, subjects_of(ROOT))._asdict().items():
        print(f"\n{kind}")
        for number, text in enumerate(drawn, 1):
            print(f"{number}. {' '.join(text.split())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", metavar="SEED", help="print texts to mark instead of the figures")
    seed = parser.parse_args().sample
    if seed is not None:
        print_sample(seed)
        return
    print("| figure | now |\n|---|---|")
    for name, value in figures():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
