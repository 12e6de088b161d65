"""Mapping file for repeated imports."""

from __future__ import annotations

from pydantic import Field

from servicekit.settings import FileSettings
from standalone.data_import.formats import Fact, TimeUnit


class MappingFile(FileSettings):
    """Contents of the TOML file for `import --map`. Command-line options override them."""

    name: str | None = None
    agent: str | None = None
    person: str | None = None
    time_zone: str | None = None
    time_unit: TimeUnit | None = None
    delimiter: str | None = None
    columns: dict[Fact, str] = Field(default_factory=dict)
    verdicts: dict[str, str] = Field(default_factory=dict)
