"""Encoding of vectors for PostgreSQL.

Columns of the type `halfvec` use pgvector's binary format. Without pgvector, vectors are arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

import asyncpg
import numpy as np

from inference.sql import SQL
from inference.turns.vectors import DIMENSION, Halves

VectorType = Literal["halfvec", "real[]"]
"""Type of the vector columns, chosen by the schema file."""


class Wire(NamedTuple):
    """Encoding of vectors for the statement parameter `vectors`.

    Attributes:
        nth: SQL expression for one of the vectors, in which `{place}` stands for its index, counted from 0.
        packed: Function that returns the value of the parameter.
    """

    nth: str
    packed: Callable[[Halves], list[Any]]


async def vector_type(pool: asyncpg.Pool) -> VectorType:
    """Return the type of the vector columns, which is an array if the database was created without pgvector."""
    kind: VectorType = await pool.fetchval(*SQL.vector_type())
    return kind


async def take_bytes(connection: asyncpg.Connection) -> None:
    """Register a binary codec for `halfvec` on a connection. Pass it as the `init` function of a pool."""
    schema = await connection.fetchval(*SQL.halfvec_schema())
    if schema is not None:
        await connection.set_type_codec("halfvec", schema=schema, encoder=bytes, decoder=bytes, format="binary")


def _as_bytes(rows: Halves) -> list[Any]:
    """Convert vectors to pgvector's binary format.

    A vector starts with its dimension and a zero, two bytes each, followed by its numbers. All values are big-endian.
    """
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
