"""Queue of erasure receipts.

A receipt is sent only after the erased person's objects have been deleted from the object store.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Never

import asyncpg

from reporting.sql import SQL
from reporting.sql.connection import Connection
from servicekit.log.records import Message, Producer


class HeldReceipts:
    """Producer that stores erasure receipts in the database instead of sending them."""

    def __init__(self, pool: asyncpg.Pool, producer: Producer) -> None:
        self._pool = pool
        self._producer = producer

    async def send(self, messages: Sequence[Message]) -> Sequence[Never]:
        """Store receipts and commit. Returns no log positions, because nothing has been sent yet."""
        rows = [
            (
                json.loads(message.value or b"{}")["tenant"],
                message.topic,
                message.key,
                message.value,
                json.dumps([(name, (value or b"").decode("latin-1")) for name, value in message.headers]),
            )
            for message in messages
        ]
        if rows:
            await self._pool.execute(*SQL.hold_receipts.bulk(rows))
        return ()

    async def held(self, connection: Connection) -> Sequence[asyncpg.Record]:
        """Return the receipts that have not been sent yet, oldest first."""
        return await connection.fetch(*SQL.held_receipts())

    async def release(self, connection: Connection, receipts: Sequence[asyncpg.Record]) -> None:
        """Send receipts and delete them from the queue.

        After a crash, a receipt may be sent twice. Readers ignore duplicates.
        """
        if not receipts:
            return
        await self._producer.send(
            [
                Message(
                    row["topic"],
                    row["key"],
                    row["value"],
                    [(name, value.encode("latin-1")) for name, value in json.loads(row["headers"])],
                )
                for row in receipts
            ]
        )
        await connection.execute(*SQL.delete_receipts(ids=[row["id"] for row in receipts]))
