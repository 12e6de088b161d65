"""Saved views of a project: dashboard pages with filters, saved under a name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg

from contracts.scopes import ADMIN, OPERATE
from reporting.access.log import AccessLog
from reporting.access.sessions import SUBJECT
from reporting.dashboard.savable import NotSavable, SavablePage, savable_page, url_of
from reporting.queries.selection import Project
from reporting.read_models.database import Connection
from reporting.sql import SQL
from servicekit import Caller, Clock, RequestRefused

MOST_VIEWS: Final = 50
"""Maximum number of saved views per project."""
LONGEST_NAME: Final = 80
_NOT_THE_AUTHOR: Final = "Only the author of a view, or an operator, may change it."


@dataclass(frozen=True, slots=True)
class SavedView:
    """Saved view of a project.

    Attributes:
        url: URL of the page, including the filters.
        created_at: Time of creation, in microseconds.
        created_by: Subject of the author's account, token or key.
    """

    id: int
    name: str
    url: str
    created_at: int
    created_by: str

    @property
    def author(self) -> str:
        """Return the author's account name, or the subject of the author's token or key."""
        return self.created_by.removeprefix(SUBJECT)

    def may_be_changed_by(self, caller: Caller) -> bool:
        """Return True if the caller is the view's author, or an operator or administrator of the project."""
        return caller.subject == self.created_by or not {OPERATE, ADMIN}.isdisjoint(caller.scopes)


async def saved_views(reads: asyncpg.Pool | Connection, at: Project) -> list[SavedView]:
    """Return the views of a project, sorted by name."""
    rows = await reads.fetch(*SQL.list_views(**at._asdict(), limit=MOST_VIEWS))
    return [
        SavedView(
            id=row["id"],
            name=row["name"],
            url=url_of(SavablePage(row["page"], row["query"]), at),
            created_at=row["created_at"],
            created_by=row["created_by"],
        )
        for row in rows
    ]


class ViewChanges:
    """Changes to saved views, each recorded in the access log.

    The methods raise RequestRefused if a change is not valid or the caller may not make it.
    """

    def __init__(self, pool: asyncpg.Pool, clock: Clock, log: AccessLog) -> None:
        self._pool = pool
        self._clock = clock
        self._log = log

    async def save(self, at: Project, name: str, url: str, caller: Caller) -> str:
        """Save a dashboard page with its filters under a name, and return its URL."""
        name = _name_of(name)
        try:
            page = savable_page(url, at)
        except NotSavable as error:
            raise RequestRefused(422, str(error)) from None
        author = {"now": self._clock.now(), "by": caller.subject}
        values = {**at._asdict(), "name": name, **author, "most": MOST_VIEWS}
        async with self._changing(at) as connection:
            done = await connection.execute(*SQL.save_view(page=page.path, query=page.query, **values))
            if done.endswith(" 0"):
                raise RequestRefused(
                    409, f"A view with this name exists, or the project already has {MOST_VIEWS} views."
                )
            await self._note(connection, at, caller, f"saved: {name}")
        return url_of(page, at)

    async def rename(self, at: Project, view: str, name: str, caller: Caller) -> str:
        """Rename a view, and return its previous name."""
        name = _name_of(name)
        async with self._changing(at) as connection:
            found = await _find(connection, at, view, caller)
            done = await connection.execute(*SQL.rename_view(**at._asdict(), id=found.id, name=name))
            if done.endswith(" 0"):
                raise RequestRefused(409, "A view with this name exists: choose another name.")
            await self._note(connection, at, caller, f"renamed: {found.name} to {name}")
        return found.name

    async def delete(self, at: Project, view: str, caller: Caller) -> str:
        """Delete a view, and return its name."""
        async with self._changing(at) as connection:
            found = await _find(connection, at, view, caller)
            await connection.execute(*SQL.delete_view(**at._asdict(), id=found.id))
            await self._note(connection, at, caller, f"deleted: {found.name}")
        return found.name

    @asynccontextmanager
    async def _changing(self, at: Project) -> AsyncIterator[Connection]:
        """Yield a connection whose transaction holds the lock on the project's views."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(*SQL.lock_views(**at._asdict()))
            yield connection

    async def _note(self, connection: Connection, at: Project, caller: Caller, about: str) -> None:
        await self._log.note(caller.subject, *at, "changed view", about, connection)


async def _find(connection: Connection, at: Project, view: str, caller: Caller) -> SavedView:
    found = next((one for one in await saved_views(connection, at) if str(one.id) == view), None)
    if found is None:
        raise RequestRefused(404, "There is no such view in this project.")
    if not found.may_be_changed_by(caller):
        raise RequestRefused(403, _NOT_THE_AUTHOR)
    return found


def _name_of(text: str) -> str:
    name = " ".join(text.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise RequestRefused(422, f"A view has a name of 1 to {LONGEST_NAME} printable characters.")
    return name
