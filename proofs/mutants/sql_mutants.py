"""Mutants of SQL: comparisons, dropped conditions and columns, orders, locks; of schemas: keys and defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from proofs.mutants.mutant import Mutant

_COMMENT = r"--[^\n]*"
_STATEMENTS = "alter|comment|create|delete|do|drop|insert|update"
_UNOBSERVABLE = ("comment on", "create index")
"""Statements of a schema file that change no result."""
_SQL = re.compile(r"\b(select|insert into|update|delete from)\b")
_VALUE = r"(?:[\w.$:]+(?:\([^()]*\))?(?:::[a-z\[\]]+)?|'[^']*')"
_END = r"(?=[\s)\"']|$)(?! (?:is|in|=|<|>|<=|>=|<>|between|like) )"
"""No operator follows, so the condition ends here."""
_RULES: tuple[tuple[str, str, str], ...] = (
    (r"(?<= )<=(?= )", "<", "SQL comparison"),
    (r"(?<= )>=(?= )", ">", "SQL comparison"),
    (r"(?<= )<(?= )", "<=", "SQL comparison"),
    (r"(?<= )>(?= )", "<", "SQL comparison"),
    (r"(?<= )<>(?= )", "=", "SQL comparison"),
    (r"\bis not null\b", "is null", "SQL comparison"),
    (r"\bis null\b", "is not null", "SQL comparison"),
    (r"\bnot exists\b", "exists", "SQL comparison"),
    (r"\bis distinct from\b", "=", "SQL comparison"),
    (rf" and (?:not )?{_VALUE}(?: (?:=|<>|<|>|<=|>=) (?:any\([^()]*\)|{_VALUE})| is (?:not )?null)?{_END}",
     "", "SQL dropped condition"),
    (rf"(?<=where ){_VALUE} (?:=|<>|<|>|<=|>=) {_VALUE} and ", "", "SQL dropped condition"),
    (rf", [a-z_]+ = {_VALUE}(?=,| where|\s*$|\n)", "", "SQL dropped column"),
    (r" desc\b", " asc", "SQL order"),
    (r"(?<=order by )([a-z_.]+)(?=\s|,|\)|$|\")(?! desc)", r"\1 desc", "SQL order"),
    (r"\bgreatest\(", "least(", "SQL function"),
    (r"\bleast\(", "greatest(", "SQL function"),
    (r"\bmin\(", "max(", "SQL function"),
    (r"\bmax\(", "min(", "SQL function"),
    (r"\bselect distinct (?!on)", "select ", "SQL duplicates"),
    (r" for update(?: of \w+)? skip locked", "", "SQL lock"),
)  # fmt: skip
_SCHEMA_RULES: tuple[tuple[str, str, str], ...] = (
    (r"\bcreate unique index\b", "create index", "schema key"),
    (r"\b((?:primary key|unique) \([^()]*), \w+(?=\))", r"\1", "schema key"),
    (r" default (?:[\w.]+\(\)|'[^']*'(?:::\w+)?|-?\w+)", "", "schema default"),
    (r" on delete cascade", "", "schema action"),
)  # fmt: skip
"""Rules for schema files. Checks and `not null` guard against other bugs, so they are left alone."""
_COMPILED = [(re.compile(pattern), after, kind) for pattern, after, kind in _RULES]
_Rule = tuple[re.Pattern[str], str, str]
_SCHEMA = [(re.compile(pattern), after, kind) for pattern, after, kind in (*_RULES, *_SCHEMA_RULES)]


def sql_mutants(file: str, text: str, start: int, end: int) -> Iterator[Mutant]:
    """Yield the mutants of the string literal at `start` to `end` of `text`, if it is SQL."""
    if _SQL.search(text, start, end):
        yield from _broken(file, text, start, end)


def sql_file_mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file of statements; none is in a comment."""
    return _outside(_COMMENT, file, text, _COMPILED)


def schema_mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a schema file."""
    left_alone = "|".join([_COMMENT, *(rf"^(?:{start})[\s\S]*?(?=^(?:{_STATEMENTS})\b|\Z)" for start in _UNOBSERVABLE)])
    return _outside(left_alone, file, text, _SCHEMA)


def _outside(pattern: str, file: str, text: str, rules: Sequence[_Rule]) -> list[Mutant]:
    left_alone = [found.span() for found in re.finditer(pattern, text, re.MULTILINE)]
    starts, ends = [0, *(end for _, end in left_alone)], [*(start for start, _ in left_alone), len(text)]
    code = zip(starts, ends, strict=True)
    return sorted({mutant for start, end in code for mutant in _broken(file, text, start, end, rules)})


def _broken(file: str, text: str, start: int, end: int, rules: Sequence[_Rule] = _COMPILED) -> Iterator[Mutant]:
    literal = text[start:end]
    for pattern, after, kind in rules:
        for found in pattern.finditer(literal):
            at = start + found.start()
            line = text.count("\n", 0, at) + 1
            yield Mutant(file, at, start + found.end(), found.expand(after), kind, line, found[0])
