"""Accounts and keys in PostgreSQL: what each administrative act leaves valid, by docs/access.md, and the limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from argon2 import PasswordHasher

from reporting.access.accounts import Accounts
from reporting.access.attempts import WINDOW
from reporting.access.keys import ApiKeys
from reporting.access.passwords import Passwords
from reporting.access.roles import ALL, ProjectSet
from reporting.access.sessions import AccountSessions, SignedIn
from servicekit.db.database import Database
from servicekit.errors import RequestRefused
from tests.support.databases import empty_schema
from tests.support.filled_rows import insert
from tests.support.hand_clock import HandClock

EVERYWHERE = ProjectSet(ALL, (ALL,))
SUPPORT = ProjectSet("acme", ("support",))
OLD, NEW = "correct horse battery", "another horse"
HERE, THERE = "10.0.0.1", "10.0.0.2"


def quick() -> Passwords:
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


class Ann:
    """Ann's account with a password, two sessions, a link that is not used yet, and an administrator."""

    def __init__(self, pool: Database) -> None:
        self.pool = pool
        self.clock = HandClock()
        self.accounts = Accounts(pool, self.clock)
        self.sessions = AccountSessions(pool, self.clock, 7, quick())
        self.valid: dict[str, str] = {}

    async def set_up(self) -> None:
        link = await self.accounts.add("ann", "reader", ["acme/support"], EVERYWHERE, "test")
        self.valid["here"] = await self.sessions.use_link(link, OLD)
        self.valid["there"] = (await self.sessions.sign_in("ann", OLD, THERE)).session or ""
        self.valid["link"] = await self.accounts.link("ann", EVERYWHERE)

    async def left(self) -> set[str]:
        """Return what still gives access, to a process that remembers nothing; `link` is used last, since it works."""
        fresh = AccountSessions(self.pool, self.clock, 7, quick())
        found = {name for name in ("here", "there") if await fresh.authenticate(self.valid[name])}
        for name, password in (("old", OLD), ("new", NEW)):
            found |= {name} if (await fresh.sign_in("ann", password, HERE)).session else set()
        if await fresh.account_of_link(self.valid["link"]):
            found.add("link")
        return found


@pytest.fixture
async def ann(postgres_url: str) -> AsyncIterator[Ann]:
    async with empty_schema(postgres_url, "reporting") as pool:
        one = Ann(pool)
        await one.set_up()
        yield one


async def _changes_password(ann: Ann) -> None:
    await ann.sessions.change_password(ann.valid["here"], "ann", OLD, NEW, HERE)


async def _uses_link(ann: Ann) -> None:
    assert await ann.sessions.authenticate(await ann.sessions.use_link(ann.valid["link"], NEW))


async def _signs_out(ann: Ann) -> None:
    await ann.sessions.end(ann.valid["here"])


async def _gets_another_link(ann: Ann) -> None:
    assert await ann.sessions.account_of_link(await ann.accounts.link("ann", SUPPORT)) == "ann"


async def _gets_another_role(ann: Ann) -> None:
    await ann.accounts.change("ann", "operator", ["acme/support"], SUPPORT)
    caller = await AccountSessions(ann.pool, ann.clock, 7, quick()).authenticate(ann.valid["here"])
    assert caller and "export" in caller.scopes


async def _is_disabled(ann: Ann) -> None:
    await ann.accounts.disable("ann", SUPPORT)


async def _is_disabled_for_a_moment(ann: Ann) -> None:
    await ann.accounts.disable("ann", SUPPORT)
    with pytest.raises(RequestRefused, match="enable it first"):
        await ann.accounts.link("ann", SUPPORT)
    await ann.accounts.enable("ann", SUPPORT)


async def _is_removed(ann: Ann) -> None:
    await ann.accounts.remove("ann", SUPPORT)


async def _is_added_again(ann: Ann) -> None:
    await ann.accounts.remove("ann", SUPPORT)
    await ann.accounts.add("ann", "reader", ["acme/support"], EVERYWHERE, "test")


async def _nothing(_: Ann) -> None:
    pass


@pytest.mark.parametrize(
    ("happens", "left"),
    [
        (_nothing, {"here", "there", "old", "link"}),
        (_changes_password, {"here", "new"}),
        (_uses_link, {"new"}),
        (_signs_out, {"there", "old", "link"}),
        (_gets_another_link, {"here", "there", "old"}),
        (_gets_another_role, {"here", "there", "old", "link"}),
        (_is_disabled, set()),
        (_is_disabled_for_a_moment, {"old"}),
        (_is_removed, set()),
        (_is_added_again, set()),
    ],
)
async def test_what_is_left_of_an_accounts_access(
    ann: Ann, happens: Callable[[Ann], Awaitable[None]], left: set[str]
) -> None:
    await happens(ann)
    assert await ann.left() == left


@pytest.mark.parametrize(
    ("happens", "ended"),
    [(_changes_password, "there"), (_uses_link, "here"), (_uses_link, "there"), (_signs_out, "here")],
)
async def test_a_session_that_the_process_remembers_ends_at_once_with_its_persons_act(
    ann: Ann, happens: Callable[[Ann], Awaitable[None]], ended: str
) -> None:
    assert await ann.sessions.authenticate(ann.valid[ended])
    await happens(ann)
    assert await ann.sessions.authenticate(ann.valid[ended]) is None


@pytest.mark.parametrize("act", ["link", "disable", "enable", "remove", "change"])
async def test_administrators_of_other_projects_change_nothing(ann: Ann, act: str) -> None:
    """An account of two projects belongs to those who administer both."""
    await ann.accounts.change("ann", "reader", ["acme/sales", "acme/support"], EVERYWHERE)
    before = await ann.left()
    for within in (SUPPORT, ProjectSet("globex", (ALL,)), ProjectSet("acme", ("sales", "x"))):
        assert await ann.accounts.list(within) == []
        more = ("admin", ["acme/support"]) if act == "change" else ()
        with pytest.raises(RequestRefused) as refused:
            await getattr(ann.accounts, act)("ann", *more, within)
        assert refused.value.status == 404
    for within in (ProjectSet("acme", ("sales", "support")), ProjectSet("acme", (ALL,)), EVERYWHERE):
        assert [(one.name, one.role) for one in await ann.accounts.list(within)] == [("ann", "reader")]
    assert await ann.left() == before


async def test_an_account_shows_its_state_and_when_its_password_was_set(ann: Ann) -> None:
    begun = ann.clock.now()
    await ann.accounts.add("bob", "admin", ["acme/*"], EVERYWHERE, "local")

    async def shown() -> dict[str, tuple[Any, ...]]:
        return {one.name: (one.state, one.password_at, one.disabled_at) for one in await ann.accounts.list(EVERYWHERE)}

    assert await shown() == {"ann": ("active", begun, None), "bob": ("invited", None, None)}
    assert list(await shown()) == ["ann", "bob"], "by name"
    ann.clock.forward(60)
    changed = ann.clock.now()
    await ann.sessions.change_password(ann.valid["here"], "ann", OLD, NEW, HERE)
    await ann.accounts.disable("bob", EVERYWHERE)
    assert await shown() == {"ann": ("active", changed, None), "bob": ("disabled", None, changed)}
    await ann.accounts.enable("bob", EVERYWHERE)
    ann.clock.forward(60)
    await ann.sessions.use_link(await ann.accounts.link("bob", EVERYWHERE), NEW)
    assert await shown() == {"ann": ("active", changed, None), "bob": ("active", changed + 60_000_000, None)}
    bob = await ann.accounts.find(" BOB ", EVERYWHERE)
    assert (bob.role, bob.access, bob.created_at, bob.created_by) == (
        "admin", ProjectSet("acme", (ALL,)), begun, "local",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "a minute"), (60, "a minute"), (61, "2 minutes"), (900, "15 minutes")]
)
def test_a_wait_is_given_in_minutes_rounded_up(seconds: int, words: str) -> None:
    assert SignedIn(None, seconds).wait_in_words == words


async def _fails(ann: Ann, times: int, name: str = "ann", address: str = HERE) -> list[bool]:
    """Send wrong passwords; return for each whether it had to wait."""
    return [(await ann.sessions.sign_in(name, "wrong", address)).wait > 0 for _ in range(times)]


async def test_ten_failures_with_a_name_are_counted_until_one_success(ann: Ann) -> None:
    assert not any(await _fails(ann, 9))
    assert (await ann.sessions.sign_in("ANN ", OLD, HERE)).session, "the tenth attempt"
    assert await _fails(ann, 11) == [False] * 10 + [True]
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).session is None
    await ann.accounts.link("ann", SUPPORT)
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).session, "a new link ends the wait"


async def test_using_a_link_ends_the_wait_for_the_name(ann: Ann) -> None:
    await _fails(ann, 11)
    await ann.sessions.use_link(ann.valid["link"], NEW)
    assert (await ann.sessions.sign_in("ann", NEW, HERE)).session


async def test_a_success_does_not_reset_the_limit_of_its_address(ann: Ann) -> None:
    """Else whoever has one account could try any number of names."""
    for name in range(49):
        assert await _fails(ann, 1, f"n{name}") == [False]
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).session, "the fiftieth attempt; it is given back"
    assert await _fails(ann, 1, "n49") == [False]
    assert await _fails(ann, 1, "n50") == [True]
    assert await _fails(ann, 1, "n51", THERE) == [False]
    ann.clock.forward(WINDOW / 1_000_000)
    assert await _fails(ann, 1, "n52") == [False]


async def test_attempts_with_the_provider_and_with_passwords_are_counted_apart(ann: Ann) -> None:
    """Else an outage of the provider would block administrators who have a password."""
    waits = [(await ann.sessions.may_ask_provider(HERE)).wait > 0 for _ in range(51)]
    assert waits == [False] * 50 + [True]
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).session
    assert (await ann.sessions.may_ask_provider(HERE)).wait > 0, "a success with a password gives none back"
    for name in range(51):
        await _fails(ann, 1, f"n{name}", THERE)
    assert await _fails(ann, 1, "n51", THERE) == [True]
    assert (await ann.sessions.may_ask_provider(THERE)).wait == 0


async def test_the_wait_ends_fifteen_minutes_after_the_first_failure(ann: Ann) -> None:
    await _fails(ann, 9)
    ann.clock.forward(600)
    await _fails(ann, 1)
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).wait == 301, "rounded up"
    ann.clock.forward(299.9)
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).wait == 1
    ann.clock.forward(0.1)
    assert (await ann.sessions.sign_in("ann", OLD, HERE)).session


async def test_wrong_current_passwords_are_limited_too(ann: Ann) -> None:
    """Whoever finds an open browser cannot try any number of passwords."""
    statuses = []
    for guess in ["wrong"] * 10 + [OLD]:
        with pytest.raises(RequestRefused) as refused:
            await ann.sessions.change_password(ann.valid["here"], "ann", guess, NEW, HERE)
        statuses.append(refused.value.status)
    assert statuses == [403] * 10 + [429]
    ann.clock.forward(WINDOW / 1_000_000)
    assert await ann.left() == {"here", "there", "old", "link"}


async def test_of_two_changes_of_a_password_at_once_one_is_refused(ann: Ann) -> None:
    """Both have checked the old password before either is stored."""
    both = asyncio.Barrier(2)

    class Together(Passwords):
        async def hashed(self, password: str) -> str:
            await both.wait()
            return await super().hashed(password)

    sessions = AccountSessions(ann.pool, ann.clock, 7, Together(quick()._hasher))
    changes = (
        sessions.change_password(ann.valid[name], "ann", OLD, password, HERE)
        for name, password in (("here", NEW), ("there", "third horse"))
    )
    ended = await asyncio.gather(*changes, return_exceptions=True)
    [refused] = [one for one in ended if isinstance(one, RequestRefused)]
    assert (refused.status, ended.count(None)) == (409, 1)
    assert await ann.left() == ({"here", "new"} if ended[0] is None else {"there"})


async def test_an_account_that_is_disabled_while_a_password_is_checked_gets_no_session(ann: Ann) -> None:
    class Slow(Passwords):
        async def matches(self, stored: str | None, password: str) -> bool:
            found = await super().matches(stored, password)
            await ann.accounts.disable("ann", SUPPORT)
            return found

    sessions = AccountSessions(ann.pool, ann.clock, 7, Slow(quick()._hasher))
    assert (await sessions.sign_in("ann", OLD, HERE)).session is None
    assert await ann.pool.fetchval("select count(*) from account_sessions") == 0


async def test_a_tenant_has_five_hundred_keys_at_most(ann: Ann) -> None:
    keys = ApiKeys(ann.pool, ann.clock)
    expires = ann.clock.now() + 1
    rows: list[dict[str, Any]] = [
        {"tenant": "acme", "projects": ["sales"], "expires_at": expires, "key_hash": str(n).encode()}
        for n in range(499)
    ]
    await insert(ann.pool, "api_keys", *rows)
    await keys.add("last", ["read"], ["acme/support"], "1", SUPPORT, "t")
    with pytest.raises(RequestRefused) as refused:
        await keys.add("one more", ["read"], ["acme/support"], "1", SUPPORT, "t")
    assert refused.value.status == 409
    await keys.add("elsewhere", ["read"], ["globex/support"], "1", EVERYWHERE, "t")
    assert [one.name for one in await keys.list(SUPPORT)] == ["last"]
    await keys.revoke(str((await keys.list(SUPPORT))[0].id), SUPPORT)
    await keys.add("one more", ["read"], ["acme/support"], "1", SUPPORT, "t")


async def test_the_last_use_of_a_key_is_known_to_the_minute(ann: Ann) -> None:
    keys = ApiKeys(ann.pool, ann.clock)
    key = await keys.add("n", ["read"], ["acme/support"], "1", SUPPORT, "t")
    other = await keys.add("other", ["read"], ["acme/support"], "1", SUPPORT, "t")
    first = ann.clock.now()
    used = []
    for seconds in (0, 57, 3, 30):  # a process remembers a key for two seconds
        ann.clock.forward(seconds)
        assert await keys.authenticate(key)
        used.append([one.used_at for one in await keys.list(SUPPORT)])
    assert used == [[first, None], [first, None], [first + 60_000_000, None], [first + 60_000_000, None]]
    assert await keys.authenticate(other)
    for wrong in (key[:-1], key + "x", "afs_" + key[4:], key.upper()):
        assert await keys.authenticate(wrong) is None


@pytest.mark.parametrize("kind", ["session", "key"])
async def test_what_ends_in_another_process_ends_here_within_two_seconds(ann: Ann, kind: str) -> None:
    """docs/access.md: accounts and keys stop working within seconds."""
    here: Any = AccountSessions(ann.pool, ann.clock, 7, quick()) if kind == "session" else ApiKeys(ann.pool, ann.clock)
    secret = (
        ann.valid["here"] if kind == "session" else await here.add("n", ["read"], ["acme/support"], "1", SUPPORT, "t")
    )
    assert await here.authenticate(secret)
    if kind == "session":
        await ann.accounts.disable("ann", SUPPORT)
    else:
        await ApiKeys(ann.pool, ann.clock).revoke(str((await here.list(SUPPORT))[0].id), SUPPORT)
    ann.clock.forward(1.999)
    assert await here.authenticate(secret), "a lookup per request would be a query per request"
    ann.clock.forward(0.001)
    assert await here.authenticate(secret) is None
    ann.clock.forward(-1)
    assert await here.authenticate(secret) is None, "it is not remembered any more"


@pytest.mark.parametrize(
    ("password", "is_accepted"),
    [
        ("x" * 7, False), ("x" * 8, True), ("é" * 7, False), ("x" * 1_024, True), ("x" * 1_025, False),
        ("é" * 512, True), ("é" * 512 + "x", False), ("👍" * 8, True), ("👍" * 257, False),
    ],
)  # fmt: skip
async def test_passwords_have_eight_characters_and_1024_bytes_at_most(password: str, is_accepted: bool) -> None:
    if is_accepted:
        stored = await quick().hashed(password)
        assert password not in stored
        assert await quick().matches(stored, password)
        assert not await quick().matches(stored, password + "x")
        assert not await quick().matches(stored, password[:-1])
        assert not await quick().matches(None, password)
        assert not await quick().matches("", password)
        assert not await quick().matches("broken", password)
    else:
        with pytest.raises(RequestRefused) as refused:
            await quick().hashed(password)
        assert refused.value.status == 422
