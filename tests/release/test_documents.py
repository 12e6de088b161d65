"""Links of the Markdown pages, the names in ARCHITECTURE.md, the index of decisions, and the length of README.md."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from docgen.reference import reference

ROOT = Path(__file__).parents[2]
README_WORDS = 550
CODE = re.compile(r"^(```|~~~).*?^\1\s*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
PATH = re.compile(r"`([\w*][\w*./]*(?:\.py|/)|(?:libs|services|clients)/[\w/]+)`")
PART = re.compile(r"`(?:[a-z_]+\.)*([A-Z][a-z]\w*[A-Z]\w*)(?:\.([a-z_]+))?`")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


def pages() -> list[str]:
    listed = subprocess.run(("git", "ls-files", "*.md"), cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    fences = re.sub(r"^(```|~~~).*?^\1\s*?$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for heading in HEADING.findall(fences):
        text = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        repeats = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one) is not None for one in found)
        found.append(f"{slug}-{repeats}" if repeats else slug)
    return frozenset(found)


def broken_links(page: Path) -> list[str]:
    """Return the relative links of `page` whose file or heading does not exist."""
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", pages())
def test_relative_links_and_anchors_exist(page: str) -> None:
    assert broken_links(ROOT / page) == []


def test_the_reference_names_metrics_rules_settings_and_keys_of_maps() -> None:
    page = reference()
    for name in (
        "agent_feedback_lag_records",
        "gives_up",
        "CHAT_BRIDGE_SLACK_AGENTS",
        "reply_unless",
        "TEAMS_RELAY_SECRET",
    ):
        assert f"| `{name}` |" in page, name


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= README_WORDS


def test_every_page_is_in_the_index() -> None:
    for index, folder in (("docs/index.md", "docs"), ("docs/decisions/README.md", "docs/decisions")):
        linked = {link.partition("#")[0] for link in LINK.findall((ROOT / index).read_text("utf-8"))}
        pages_there = {path.name for path in (ROOT / folder).glob("*.md")} - {Path(index).name}
        assert pages_there - linked == set(), index


@cache
def tracked() -> tuple[str, ...]:
    return tuple(
        subprocess.run(("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    )


@cache
def methods() -> dict[str, set[str]]:
    """Return the names of the methods of each class of the product."""
    found: dict[str, set[str]] = {}
    for name in tracked():
        if name.startswith(("libs/", "services/")) and name.endswith(".py") and (ROOT / name).exists():
            for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    defined = {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
                    found.setdefault(node.name, set()).update(defined)
    return found


def missing_names(text: str) -> list[str]:
    """Return the files, folders, classes and methods that a page names in backticks and that do not exist."""
    paths = [
        path
        for path in PATH.findall(text)
        if not any(re.search(rf"(^|/){re.escape(path).replace(chr(92) + '*', '[^/]*')}", name) for name in tracked())
    ]
    parts = [
        f"{owner}.{method}" if method else owner
        for owner, method in PART.findall(text)
        if owner not in methods() or (method and method not in methods()[owner])
    ]
    return paths + parts


def test_architecture_names_what_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert len(PATH.findall(text)) > 40, "the paths were not found"
    assert len(PART.findall(text)) > 8, "the classes were not found"
    assert missing_names(text) == []


@pytest.mark.parametrize("page", pages())
def test_python_files_in_pages_exist(page: str) -> None:
    """`NAME` in a path stands for any name."""
    missing = missing_names((ROOT / page).read_text("utf-8"))
    assert [name for name in missing if name.endswith(".py") and "NAME" not in name] == []
