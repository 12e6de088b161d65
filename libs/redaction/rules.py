"""Rules of redaction: the recognisers to use, and the patterns of single projects. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, StringConstraints, field_validator

from redaction.masks import WHOLE
from redaction.recognisers import InvalidPattern, pattern

Kind = Literal["card", "iban", "key", "mail", "phone"]
PatternName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
PATTERNS_LIMIT: Final = 50
"""Maximum number of a project's own patterns."""
BUILT_IN: Final[tuple[Kind, ...]] = ("card", "iban", "key", "mail", "phone")
_PLACE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}/[A-Za-z0-9._-]{1,64}")
_STARS: Final = "**"


class RedactionRules(BaseModel):
    """Recognisers to use for each project.

    `kinds` are the built-in recognisers to use. `patterns` are additional RE2 patterns by name, for all projects.
    `patterns_of` changes these patterns for single projects, named as `tenant/project`; null removes a pattern.
    `presidio_language` enables Microsoft Presidio for texts in that language, and `presidio_entities` are the entities
    that it redacts.
    """

    kinds: frozenset[Kind] = frozenset({"card", "iban", "key"})
    patterns: dict[PatternName, Pattern] = Field(default_factory=dict)
    patterns_of: dict[str, dict[PatternName, Pattern | None]] = Field(default_factory=dict)
    presidio_language: Annotated[str, StringConstraints(pattern=r"^([a-z]{2})?$")] = ""
    presidio_entities: tuple[str, ...] = ("PERSON",)

    @field_validator("patterns")
    @classmethod
    def _are_usable(cls, patterns: dict[str, str]) -> dict[str, str]:
        _check(patterns)
        return patterns

    @field_validator("patterns_of")
    @classmethod
    def _are_usable_in_projects(cls, tables: dict[str, dict[str, str | None]]) -> dict[str, dict[str, str | None]]:
        for project, patterns in tables.items():
            if not _PLACE.fullmatch(project):
                raise ValueError(f"{project!r} is not tenant/project")
            _check({name: source for name, source in patterns.items() if source is not None})
        return tables

    def patterns_in(self, project: str) -> Mapping[str, str]:
        """Return the additional patterns of a project by name. `project` is written as `tenant/project`."""
        changed = {**self.patterns, **self.patterns_of.get(project, {})}
        return {name: source for name, source in changed.items() if source is not None}


def _check(patterns: Mapping[str, str]) -> None:
    """Raise ValueError if there are too many patterns, or if one of them is unusable.

    A pattern is unusable if it is invalid, has the name of a built-in kind, or matches an empty text or a mask. A
    matching mask would be redacted again and again.
    """
    if len(patterns) > PATTERNS_LIMIT:
        raise ValueError(f"at most {PATTERNS_LIMIT} patterns")
    masks = [_STARS, *(f"[{name}]" for name in (*BUILT_IN, WHOLE, *patterns))]
    for name, source in patterns.items():
        if name in (*BUILT_IN, WHOLE):
            raise ValueError(f"{name!r} is the name of a built-in kind")
        try:
            compiled = pattern(source)
        except InvalidPattern:
            raise ValueError(f"the pattern {name!r} is not an RE2 pattern, or too large") from None
        if compiled.search(""):
            raise ValueError(f"the pattern {name!r} matches an empty text")
        if matched := next((mask for mask in masks if compiled.search(mask)), None):
            raise ValueError(f"the pattern {name!r} matches the mask {matched}")
