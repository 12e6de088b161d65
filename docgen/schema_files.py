"""Schemas of the services after all migrations: `python -m docgen.schema_files` writes `docs/schemas/NAME.sql`.

The files are for readers only; services apply the migrations. Generating them needs an embedded PostgreSQL, which the
other generators do not need.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import asyncpg

from servicekit.db.pools import open_pool
from standalone.embedded.postgres import EmbeddedPostgres
from standalone.one_process.stack import PROGRAMS

ROOT: Final = Path(__file__).parents[1]
HEAD: Final = """\
-- Tables of {service} after all migrations, made by `make docs`. The service applies services/{service}/migrations.
-- The table `migrations` has the applied files."""
_COLUMNS: Final = """
select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
    pg_get_expr(d.adbin, d.adrelid) as value, a.attgenerated::text as generated, a.attidentity::text as identity,
    obj_description(c.oid, 'pg_class') as about_table, col_description(c.oid, a.attnum) as about
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = $1::regnamespace and c.relkind = 'r' and c.relname <> 'migrations'
order by c.relname, a.attnum
"""
_CONSTRAINTS: Final = """
select conrelid::regclass::text as table, pg_get_constraintdef(oid, true) as definition from pg_constraint
where connamespace = $1::regnamespace and contype in ('p', 'u', 'f', 'c')
order by 1, array_position(array['p', 'u', 'f', 'c'], contype::text), 2
"""
_INDEXES: Final = """
select i.indrelid::regclass::text as table, pg_get_indexdef(i.indexrelid, 0, true) as definition
from pg_index i join pg_class c on c.oid = i.indexrelid
where c.relnamespace = $1::regnamespace and not exists (select from pg_constraint where conindid = i.indexrelid)
order by 1, c.relname
"""
_TRIGGERS: Final = """
select t.tgrelid::regclass::text as table, pg_get_triggerdef(t.oid, true) as definition
from pg_trigger t join pg_class c on c.oid = t.tgrelid
where c.relnamespace = $1::regnamespace and not t.tgisinternal order by 1, t.tgname
"""
_VIEWS: Final = """
select relname as name, obj_description(oid, 'pg_class') as about from pg_class
where relnamespace = $1::regnamespace and relkind = 'v' order by 1
"""
_TRIGGER: Final = re.compile(r"(before|after) ([a-z_, ]+?) on .* function (\w+\(\))")
_KEYWORD: Final = re.compile(r"\b[A-Z]+\b")
_CAST: Final = re.compile(r"^::text(\[\])?")
_FUNCTIONS: Final = "select proname as name from pg_proc where pronamespace = $1::regnamespace order by 1"


async def schema_of(connection: asyncpg.Connection, service: str) -> str:
    """Return the tables of a service's migrated schema, with comments, keys, indexes and triggers.

    Views and functions are listed with the migration that last defined them.
    """
    await connection.execute(f"set search_path to {service}, public")
    found = {
        query: await connection.fetch(query, service)
        for query in (_COLUMNS, _CONSTRAINTS, _INDEXES, _TRIGGERS, _VIEWS, _FUNCTIONS)
    }
    parts = [HEAD.format(service=service)]
    for table, columns in groupby(found[_COLUMNS], key=lambda row: row["table"]):
        own = {query: [row for row in rows if row["table"] == table] for query, rows in found.items() if query in _OWN}
        parts.append("\n".join(_table(table, list(columns), own)))
    defined = [_view(service, row) for row in found[_VIEWS]]
    defined += [f"-- function {row['name']}: {_origin(service, 'function', row['name'])}" for row in found[_FUNCTIONS]]
    return "\n\n".join([*parts, "\n".join(defined)]).rstrip() + "\n"


_OWN: Final = (_CONSTRAINTS, _INDEXES, _TRIGGERS)


def _table(name: str, columns: Sequence[Any], own: dict[str, list[Any]]) -> Iterator[str]:
    yield from _comment(columns[0]["about_table"])
    yield f"create table {name} ("
    lines = [(_column(row), row["about"]) for row in columns]
    lines += [(_plain(row["definition"]), None) for row in own[_CONSTRAINTS]]
    for number, (line, about) in enumerate(lines, 1):
        yield from (f"    {one}" for one in _comment(about))
        yield f"    {line}{',' if number < len(lines) else ''}"
    yield ");"
    for row in own[_INDEXES]:
        yield f"{_plain(row['definition']).replace(' using btree', '')};"
    called: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in own[_TRIGGERS]:
        moment, events, function = _TRIGGER.findall(_plain(row["definition"]))[0]
        called[moment, function] |= {*events.split(" or ")}
    for (moment, function), events in sorted(called.items()):
        yield f"-- {moment.capitalize()} {', '.join(sorted(events))}: {function}"


def _column(row: Any) -> str:
    words = [row["name"], row["type"]]
    if row["required"]:
        words.append("not null")
    if row["identity"]:
        words.append("generated always as identity" if row["identity"] == "a" else "generated by default as identity")
    elif row["generated"]:
        words.append(f"generated always as ({row['value']}) stored")
    elif row["value"] is not None:
        words.append(f"default {row['value']}")
    return _plain(" ".join(words))


def _plain(definition: str) -> str:
    """Return PostgreSQL's text of a definition, with lower-case keywords and without casts of literals."""
    literals_apart = re.split(r"('[^']*')", definition)
    return "".join(
        part if part.startswith("'") else _KEYWORD.sub(lambda word: word[0].lower(), _CAST.sub("", part))
        for part in literals_apart
    )


def _view(service: str, row: Any) -> str:
    about = f"\n{chr(10).join(_comment(row['about']))}" if row["about"] else ""
    return f"-- view {row['name']}: {_origin(service, 'view', row['name'])}{about}"


def _origin(service: str, kind: str, name: str) -> str:
    """Return the migration that last defined a view or function."""
    defines = re.compile(rf"create (or replace )?{kind} {name}\b")
    files = sorted(_migrations(service).glob("[0-9]*.sql"))
    return next(f"migrations/{file.name}" for file in reversed(files) if defines.search(file.read_text("utf-8")))


def _migrations(service: str) -> Path:
    return ROOT / "services" / service / "migrations"


def _comment(text: str | None) -> list[str]:
    return [f"-- {line}" for line in wrap(text, 110)] if text else []


async def files(url: str) -> dict[Path, str]:
    """Return the text of each schema file, by path, from the migrated database at `url`."""
    connection = await asyncpg.connect(url)
    try:
        return {
            ROOT / "docs" / "schemas" / f"{one.name}.sql": await schema_of(connection, one.name) for one in PROGRAMS
        }
    finally:
        await connection.close()


async def write() -> None:
    """Apply all migrations to a new database, and write the files."""
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedPostgres(Path(folder) / "data") as server:
            for one in PROGRAMS:
                pool = await open_pool(server.url, one.name, _migrations(one.name), size=1)
                await pool.close()
            for file, text in (await files(server.url)).items():
                file.write_text(text, "utf-8")


if __name__ == "__main__":
    asyncio.run(write())
