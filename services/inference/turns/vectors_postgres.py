"""Encode vectors for PostgreSQL: in pgvector's binary format if the columns have its type, otherwise as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import asyncpg
import numpy as np

from inference.sql import SQL
from inference.turns.vectors import DIMENSION, Halves

VectorType = Literal["halfvec", "real[]"]
"""Type of the vector columns. The migration that adds them chooses it."""


class Wire(NamedTuple):
    """Encoding of all vectors of a statement as its parameter `vectors`.

    `packed` returns the value of this parameter. `nth` is the SQL expression for vector number `{place}`, counted from
    0.
    """

    nth: str
    packed: Callable[[Halves], list[Any]]


async def vector_type(pool: asyncpg.Pool) -> VectorType:
    """Return the type of the vector columns. A database that was created without pgvector has arrays of numbers."""
    kind: VectorType = await pool.fetchval(*SQL.vector_type())
    return kind


async def take_bytes(connection: asyncpg.Connection) -> None:
    """Register the binary codec of `halfvec` on a connection. A pool calls it for each connection (`init`)."""
    schema = await connection.fetchval(*SQL.halfvec_schema())
    if schema is not None:
        await connection.set_type_codec("halfvec", schema=schema, encoder=bytes, decoder=bytes, format="binary")


def _as_bytes(rows: Halves) -> list[Any]:
    """Return vectors in pgvector's binary format: dimension and zero, two bytes each, then the numbers (big-endian)."""
    whole = np.empty(len(rows), dtype=[("dimension", ">u2"), ("zero", ">u2"), ("numbers", ">f2", DIMENSION)])
    whole["dimension"], whole["zero"], whole["numbers"] = DIMENSION, 0, rows
    raw, size = whole.tobytes(), whole.itemsize
    return [raw[start : start + size] for start in range(0, len(raw), size)]


def _as_numbers(rows: Halves) -> list[Any]:
    raw: list[Any] = rows.astype(np.float32).ravel().tolist()
    return raw


WIRES: Final[Mapping[VectorType, Wire]] = {
    "halfvec": Wire("(:vectors::halfvec[])[{place} + 1]", _as_bytes),
    "real[]": Wire(
        f"(:vectors::real[])[{{place}} * {DIMENSION} + 1 : ({{place}} + 1) * {DIMENSION}]",
        _as_numbers,
    ),
}
