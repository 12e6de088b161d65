"""The services' pages agree with ARCHITECTURE.md, and the command line prints all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.topics import Consumer, consumed_by
from docgen.services_page import PAGE, text
from servicekit.definition import ServiceDefinition
from servicekit.web.paths import template_of
from standalone.cli.app import app
from standalone.one_process.stack import PROGRAMS
from standalone.operations.service_tables import allowed

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (\w+) \| `(\w+)` \| ([^|]+) \| `([\w.]+)` \|", re.M)


def test_the_table_of_groups_in_the_architecture_is_that_of_the_pages() -> None:
    table = {
        group: (service, set(re.findall(r"`([^`]+)`", topics)), handler)
        for service, group, topics, handler in ROW.findall(ARCHITECTURE.read_text("utf-8"))
    }
    assert table == {
        reads.group: (
            service.name,
            {topic.name for topic in consumed_by(reads.group)},
            f"{reads.kind.__module__}.{reads.kind.__name__}".removeprefix(f"{service.name}."),
        )
        for service in PROGRAMS
        for reads in service.reads
    }


def test_every_group_of_the_topic_table_is_read_by_one_service() -> None:
    groups = [reads.group for service in PROGRAMS for reads in service.reads]
    assert sorted(groups) == sorted(Consumer.__args__)  # type: ignore[attr-defined] # the values of a Literal


def test_the_page_in_the_docs_is_that_of_the_services() -> None:
    assert PAGE.read_text("utf-8") == text(), "run `make docs`"


@pytest.mark.parametrize("service", PROGRAMS, ids=lambda service: service.name)
def test_the_command_prints_each_line_of_a_page_unbroken(service: ServiceDefinition[Any]) -> None:
    shown = CliRunner().invoke(app, ["services", service.name])
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    for serves in service.serves:
        for (method, path), need in serves.routes.items():
            assert f"    {method} {template_of(path)}  {allowed(need)}".replace("`", "") in lines
    names = [one.group for one in service.reads] + [one.name for one in service.every]
    for name in [*names, *(one.table for one in service.keeps)]:
        assert any(line.startswith(f"    {name}") for line in lines), name


def test_a_service_that_there_is_not_is_a_usage_error() -> None:
    assert CliRunner().invoke(app, ["services", "billing"]).exit_code == 2
