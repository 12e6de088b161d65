"""Every table is in docs/backup.md, with its source after a loss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = ("chat_bridge", "feedback", "inference", "reporting")


def tables() -> set[str]:
    created = re.compile(r"^create table (\w+)", re.MULTILINE)
    texts = {schema: (DOCS / "schemas" / f"{schema}.sql").read_text("utf-8") for schema in SCHEMAS}
    return {f"{schema}.{table}" for schema, text in texts.items() for table in created.findall(text)}


def listed() -> set[str]:
    section = (DOCS / "backup.md").read_text("utf-8").partition("## What can be rebuilt from what")[2]
    rows = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row.split("|")[1])}


def test_the_tables_are_found() -> None:
    assert len(tables()) > 40


@pytest.mark.parametrize("table", sorted(tables()))
def test_a_table_has_its_source_in_the_page(table: str) -> None:
    assert table in listed(), "say in docs/backup.md, section What can be rebuilt from what, how a restore fills it"


def test_the_page_names_no_table_that_is_gone() -> None:
    assert listed() <= tables()
