"""Mapping file for repeated imports."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from standalone.data_import.formats import Fact


class MappingFile(BaseModel):
    """Contents of the TOML file for `import --map`. Command-line options override them."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: str | None = None
    agent: str | None = None
    person: str | None = None
    time_zone: str | None = None
    delimiter: str | None = None
    columns: dict[Fact, str] = {}
    verdicts: dict[str, str] = {}
