"""Generation of all files that are derived from the code: `python -m docgen`.

`--check` only compares them with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from docgen import asyncapi, client_types, events_page, helm_schema

GENERATORS = (asyncapi, events_page, helm_schema, client_types)


def stale() -> Iterator[tuple[Path, str]]:
    """Yield each missing or outdated file, with its expected text."""
    for generator in GENERATORS:
        for file, text in generator.files().items():
            if not file.exists() or file.read_text("utf-8") != text:
                yield file, text


def main() -> int:
    outdated = list(stale())
    if "--check" in sys.argv:
        if outdated:
            sys.stderr.write(f"Not up to date: {', '.join(file.name for file, _ in outdated)}. Run `make docs`.\n")
        return int(bool(outdated))
    for file, text in outdated:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
