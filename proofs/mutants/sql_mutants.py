"""Makes mutants of SQL: comparisons, dropped conditions and columns, orders, locks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proofs.mutants.mutant import Mutant

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
_COMPILED = [(re.compile(pattern), after, kind) for pattern, after, kind in _RULES]


def sql_mutants(file: str, text: str, start: int, end: int) -> Iterator[Mutant]:
    """Yield the mutants of the string literal at `start` to `end` of `text`, if it is SQL."""
    if _SQL.search(text, start, end):
        yield from _broken(file, text, start, end)


def sql_file_mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file of statements; none is in a comment."""
    parts = re.finditer(r"--[^\n]*|(?P<code>(?:(?!--)[\s\S])+)", text)
    code = [part.span() for part in parts if part["code"]]
    return sorted({mutant for start, end in code for mutant in _broken(file, text, start, end)})


def _broken(file: str, text: str, start: int, end: int) -> Iterator[Mutant]:
    literal = text[start:end]
    for pattern, after, kind in _COMPILED:
        for found in pattern.finditer(literal):
            at = start + found.start()
            line = text.count("\n", 0, at) + 1
            yield Mutant(file, at, start + found.end(), found.expand(after), kind, line, found[0])
