"""Guard against concurrent erasures: a batch's writes fail if a person in the batch is in the erasure ledger.

SQL functions with the parameters `guarded_tenant` and `guarded_user` check the ledger (`Database.call`, decision 169).
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
    """A guarded person is in the erasure ledger. The call that raised this has written nothing."""


@contextmanager
def guarded(people: Collection[Person]) -> Iterator[None]:
    """Make the guarded functions called in this block raise PersonErased if one of `people` is in the ledger."""
    token = _guarded.set(people)
    try:
        yield
    finally:
        _guarded.reset(token)


def guard_values() -> dict[str, list[str]]:
    """Return the people of the current guard as arguments of a guarded function; empty lists without a guard."""
    people = _guarded.get()
    return {"guarded_tenant": [one.tenant for one in people], "guarded_user": [one.user_id for one in people]}
