"""A random sample of the repository's wording, for a reader who does not know the project.

The reader marks each text CLEAR (understood at first reading), ODD (understood, but nobody would write it so) or TWICE
(read twice, or not understood).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

DOCSTRINGS: Final = 60
SENTENCES: Final = 25
SUBJECTS: Final = 30
RECENT_COMMITS: Final = 200
"""Number of recent commits from which subjects are drawn."""
GENERATED: Final = (
    "docs/http.md",
    "docs/services.md",
    "docs/topics.md",
    "docs/settings.md",
    "docs/decisions/README.md",
)
"""Pages generated from docstrings and tables, which would otherwise be drawn twice."""
_NOT_PROSE: Final = re.compile(r"^(\||#|!|<|>|\s{4}|-{3}|\[[^\]]+\]:)")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")
_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


class WordingSample(NamedTuple):
    """Texts to be marked, by kind."""

    docstrings: Sequence[str]
    sentences: Sequence[str]
    subjects: Sequence[str]


def sentences_of(page: str) -> Iterator[str]:
    """Yield the sentences in a Markdown page's paragraphs and lists, without code, tables and headings."""
    prose = re.sub(r"^```.*?^```|!\[[^\]]*\]\([^)]*\)", "", page, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", prose):
        text = paragraph.strip("\n")
        if not text.strip() or _NOT_PROSE.match(text):
            continue
        joined = " ".join(_LIST_ITEM.sub("", text).split())
        yield from (one for one in _SENTENCE_END.split(joined) if len(one.split()) > 3)


def subjects_of(root: Path) -> Sequence[str]:
    """Return the subjects of recent commits."""
    command = ["git", "log", "--no-merges", f"-{RECENT_COMMITS}", "--format=%s"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()


def draw(seed: str, docstrings: Iterable[str], sentences: Iterable[str], subjects: Iterable[str]) -> WordingSample:
    """Draw a random sample of the texts. The same texts and seed give the same sample."""
    random = Random(seed)  # a sample, not a secret

    def drawn(texts: Iterable[str], count: int) -> Sequence[str]:
        known = sorted(set(texts))
        return random.sample(known, min(count, len(known)))

    return WordingSample(drawn(docstrings, DOCSTRINGS), drawn(sentences, SENTENCES), drawn(subjects, SUBJECTS))


def pages_of(root: Path) -> Iterator[str]:
    """Yield the texts of the documentation pages that people write."""
    for path in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        name = path.relative_to(root).as_posix()
        if name not in GENERATED and name != "CHANGELOG.md":
            yield path.read_text("utf-8")
