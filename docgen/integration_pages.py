"""Code in the pages of docs/integrations, copied from the examples that `make test-bridges` runs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_EXAMPLE = re.compile(
    r"(<!-- (examples/integrations/\S+\.(\w+)), copied by `make docs` -->\n\n)```.*?\n```\n", re.DOTALL
)
_LANGUAGES = {"py": "python", "ts": "ts"}


def text(page: str) -> str:
    """Return the page with each example replaced by its file's code, without the module docstring."""

    def copied(example: re.Match[str]) -> str:
        code = (ROOT / example[2]).read_text("utf-8")
        if example[3] == "py":
            code = re.sub(r'\A"""[^\n]*"""\n+', "", code)
        return f"{example[1]}```{_LANGUAGES[example[3]]}\n{code.rstrip()}\n```\n"

    return _EXAMPLE.sub(copied, page)


def files() -> dict[Path, str]:
    """Return the text of all integration pages, by path."""
    pages = sorted((ROOT / "docs" / "integrations").glob("*.md"))
    return {page: text(page.read_text("utf-8")) for page in pages}
