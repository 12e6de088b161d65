"""Guard against concurrent erasures: the writes of a batch fail if someone in the batch is in the erasure ledger.

The check is part of SQL functions with the parameters `guarded_tenant` and `guarded_user` (`Database.call`, decision
169).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from contracts.erasure import Person

SQLSTATE: Final = "AF001"
"""SQLSTATE that a guarded function raises if a guarded person is in the ledger."""
NOBODY_ERASED: Final = f"""
if cardinality(:guarded_user::text[]) > 0 then
    lock table erasures in share mode;
    if exists (
        select from erasures join unnest(:guarded_tenant::text[], :guarded_user::text[]) as person (tenant, user_id)
        using (tenant, user_id)
    ) then
        raise sqlstate '{SQLSTATE}';
    end if;
end if"""
"""First statement of a guarded function, inserted as the fragment `nobody_erased`.

Concurrent erasures wait until the transaction ends, so that they find its rows. The function finds earlier erasures in
the ledger.
"""
_guarded: ContextVar[Collection[Person]] = ContextVar("guarded_people", default=())


class PersonErased(Exception):
    """Raised if a guarded person is in the erasure ledger. The call that raises it has not written anything."""


@contextmanager
def guarded(people: Collection[Person]) -> Iterator[None]:
    """Guard `people` in this block: guarded functions raise PersonErased if one of them is in the ledger."""
    token = _guarded.set(people)
    try:
        yield
    finally:
        _guarded.reset(token)


def guard_values() -> dict[str, list[str]]:
    """Return the currently guarded people as arguments for a guarded function. Without a guard, the lists are empty."""
    people = _guarded.get()
    return {
        "guarded_tenant": [person.tenant for person in people],
        "guarded_user": [person.user_id for person in people],
    }
