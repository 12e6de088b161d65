"""How turns' vectors are kept and compared: by pgvector where the server has it, else as bytes and compared here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import asyncpg
import numpy as np

from inference.embed import Vectors

DIMENSION: Final = 256
LATEST: Final = 5
"""So many of the latest turns are always among the nearest."""


class VectorColumn(Protocol):
    """The column `embedding` of `turns`. `scope` is a condition on `t` with the parameters `values`."""

    def written(self, parameter: int, number: str) -> str:
        """SQL for the vector of that number, counted from 1, in that parameter; null for number 0."""
        ...

    def parameter(self, vectors: Vectors) -> list[Any]:
        """The parameter that holds vectors, shape (n, DIMENSION)."""
        ...

    async def nearest(
        self, connection: Any, scope: str, values: Sequence[Any], vector: Vectors, limit: int
    ) -> list[tuple[str, str, float, int]]:
        """(conversation, turn, similarity, turns back) of the latest few and the `limit` most alike of a scope."""
        ...


def _in_order(scope: str, column: str) -> str:
    return f"""
        select t.conversation_id, t.turn_id, {column},
               row_number() over (order by t.at desc, t.conversation_id, t.turn_id) as back
        from turns t where {scope} and t.embedding is not null"""


class HalfVectors:
    """pgvector's halfvec; `home` is the schema that the extension lives in."""

    def __init__(self, home: str) -> None:
        self._type = f"{home}.halfvec"
        self._product = f"operator({home}.<#>)"

    def written(self, parameter: int, number: str) -> str:
        part = f"(({number}) - 1) * {DIMENSION} + 1 : ({number}) * {DIMENSION}"
        return f"case when {number} > 0 then (${parameter}::real[])[{part}]::{self._type} end"

    def parameter(self, vectors: Vectors) -> list[Any]:
        return list(vectors.ravel().tolist())

    async def nearest(
        self, connection: Any, scope: str, values: Sequence[Any], vector: Vectors, limit: int
    ) -> list[tuple[str, str, float, int]]:
        to = f"${len(values) + 1}::real[]::{self._type}"
        rows = await connection.fetch(
            f"""select conversation_id, turn_id, -negative as similarity, back
                from ({_in_order(scope, f"t.embedding {self._product} {to} as negative")}) t
                order by back > {LATEST}, negative, back limit ${len(values) + 2}""",
            *values,
            vector.tolist(),
            limit + LATEST,
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]


class ByteVectors:
    """Half-precision numbers as bytes."""

    def written(self, parameter: int, number: str) -> str:
        return f"(${parameter}::bytea[])[{number}]"

    def parameter(self, vectors: Vectors) -> list[Any]:
        return [row.tobytes() for row in vectors.astype(np.float16)]

    async def nearest(
        self, connection: Any, scope: str, values: Sequence[Any], vector: Vectors, limit: int
    ) -> list[tuple[str, str, float, int]]:
        rows = await connection.fetch(_in_order(scope, "t.embedding"), *values)
        if not rows:
            return []
        held = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float16).reshape(len(rows), DIMENSION)
        alike = (held.astype(np.float32) @ vector).tolist()
        order = sorted(range(len(rows)), key=lambda n: (rows[n][3] > LATEST, -alike[n], rows[n][3]))
        return [(rows[n][0], rows[n][1], alike[n], rows[n][3]) for n in order[: limit + LATEST]]


async def vector_column(pool: asyncpg.Pool) -> VectorColumn:
    """What the column `turns.embedding` of this database is."""
    row = await pool.fetchrow(
        """select t.typname, quote_ident(n.nspname) as home from pg_attribute a
           join pg_type t on t.oid = a.atttypid join pg_namespace n on n.oid = t.typnamespace
           where a.attrelid = 'turns'::regclass and a.attname = 'embedding'"""
    )
    return HalfVectors(row["home"]) if row is not None and row["typname"] == "halfvec" else ByteVectors()
