"""Access page: the caller's own account, and the accounts and API keys that administrators manage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import asyncpg
from fastapi import APIRouter, Request, Response

from contracts.access import password_link
from contracts.scopes import ADMIN, ALL_SCOPES
from reporting.access.accounts import LINK_DAYS, Accounts
from reporting.access.keys import DEFAULT_DAYS, MOST_DAYS, ApiKeys
from reporting.access.log import MOST_ENTRIES, AccessLog
from reporting.access.passwords import LONGEST, SHORTEST
from reporting.access.roles import ALL, MEANINGS, ROLES, ProjectSet, account_name, managed_by, may_give_access
from reporting.access.sessions import SUBJECT, AccountSessions
from reporting.dashboard.alerts import FormOutcome
from reporting.dashboard.erasure import tenants_of
from reporting.dashboard.rendering import page
from reporting.queries.projects import projects
from servicekit import Caller, Form, RequestRefused

ACCESS: Final = "/dashboard/access"
ACCOUNTS: Final = ACCESS + "/accounts"
KEYS: Final = ACCESS + "/keys"
COOKIE: Final = "agent_feedback_token"


def access_router(
    sessions: AccountSessions, accounts: Accounts, keys: ApiKeys, reads: asyncpg.Pool, log: AccessLog
) -> APIRouter:
    """Return the routes of the access page."""
    router = APIRouter(include_in_schema=False)

    async def shown(
        request: Request, outcome: FormOutcome | None = None, link: str = "", status: int = 200, key: str = ""
    ) -> Response:
        caller: Caller = request.state.caller
        access, admin = ProjectSet.of(caller), may_give_access(caller)
        known = await projects(reads, caller.tenant, caller.projects) if admin else []
        places = [f"{one.tenant}/{one.project}" for one in known]
        whole = [f"{access.tenant}/{ALL}"] if access.projects == (ALL,) and access.tenant != ALL else []
        name = caller.subject.removeprefix(SUBJECT) if caller.subject.startswith(SUBJECT) else None
        return page(
            "access.html",
            status,
            signed_in=True,
            name=name,
            has_password=name is not None and await accounts.has_password(name),
            scopes=sorted(caller.scopes),
            access=access.places,
            accounts=await accounts.list(access) if admin else [],
            keys=await keys.list(access) if admin else [],
            new_key=key,
            log=await log.newest(access) if admin else [],
            most_entries=MOST_ENTRIES,
            all_scopes=sorted(ALL_SCOPES),
            default_days=DEFAULT_DAYS,
            most_days=MOST_DAYS,
            admin=admin,
            places=[*whole, *places],
            tenants=await tenants_of(reads, caller) if ADMIN in caller.scopes else [],
            roles=ROLES,
            meanings=MEANINGS,
            outcome=outcome,
            new_link=link,
            link_days=LINK_DAYS,
            shortest=SHORTEST,
            longest=LONGEST,
        )

    async def show(request: Request) -> Response:
        return await shown(request)

    async def change_own(request: Request) -> Response:
        caller, session = request.state.caller, request.cookies.get(COOKIE, "")
        try:
            form = await Form.read(request)
            if not caller.subject.startswith(SUBJECT):
                raise RequestRefused(409, "Only an account has a password.")
            if form.field("password") != form.field("again"):
                raise RequestRefused(422, "The two new passwords differ.")
            name = caller.subject.removeprefix(SUBJECT)
            before, password = form.field("current"), form.field("password")
            address = request.client.host if request.client else "unknown"
            await sessions.change_password(session, name, before, password, address)
        except RequestRefused as refusal:
            return await shown(request, FormOutcome(str(refusal), failed=True), status=refusal.status)
        return await shown(request, FormOutcome("The password was changed. Other browsers are signed out."))

    async def noted(caller: Caller, tenants: Iterable[str], about: str) -> None:
        for tenant in tenants:
            await log.note(caller.subject, tenant, None, "changed access", about)

    async def change_accounts(request: Request) -> Response:
        caller: Caller = request.state.caller
        try:
            form = await Form.read(request)
            done = await _carry_out(accounts, form, caller)
            await noted(caller, done.tenants, done.about)
        except RequestRefused as refusal:
            return await shown(request, FormOutcome(str(refusal), failed=True), status=refusal.status)
        sessions.forget()
        base = f"{request.url.scheme}://{request.url.netloc}"
        return await shown(request, FormOutcome(done.said), password_link(base, done.secret) if done.secret else "")

    async def change_keys(request: Request) -> Response:
        caller: Caller = request.state.caller
        secret = ""
        try:
            form, within = await Form.read(request), managed_by(caller)
            if "revoke" in form:
                revoked = await keys.revoke(form.field("revoke"), within)
                said, changed = f"The key {revoked.name} was revoked.", f"key {revoked.name}: revoked"
                tenant = revoked.tenant
            else:
                named, scopes, days = form.field("name"), form.get("scope", []), form.field("days")
                secret = await keys.add(named, scopes, _places(form), days, within, caller.subject)
                said = "Copy this key: it is not stored and cannot be shown again."
                changed, tenant = f"key {named.strip()}: created", ProjectSet.parse(_places(form)).tenant
            await noted(caller, [tenant], changed)
        except RequestRefused as refusal:
            return await shown(request, FormOutcome(str(refusal), failed=True), status=refusal.status)
        return await shown(request, FormOutcome(said), key=secret)

    router.add_api_route(KEYS, change_keys, methods=["POST"], response_model=None)
    router.add_api_route(ACCESS, show, methods=["GET"], response_model=None)
    router.add_api_route(ACCESS, change_own, methods=["POST"], response_model=None)
    router.add_api_route(ACCOUNTS, change_accounts, methods=["POST"], response_model=None)
    return router


@dataclass(frozen=True, slots=True)
class _AccountChange:
    """Result of a change to an account.

    If an account moves to another tenant, the change is logged in both tenants, because administrators see only the
    changes in their own tenant.

    Attributes:
        said: Message shown on the page.
        about: Text of the log entries.
        tenants: Tenants that get a log entry.
        secret: Secret of the link for setting a password, or empty if the change creates no link.
    """

    said: str
    about: str
    tenants: frozenset[str]
    secret: str = ""


async def _carry_out(accounts: Accounts, form: Form, caller: Caller) -> _AccountChange:
    """Make the account change requested by a form."""
    within = managed_by(caller)
    for action in ("link", "disable", "enable", "remove"):
        if action in form:
            account = await accounts.find(form.field(action), within)
            name, tenants = account.name, frozenset({account.access.tenant})
            if action != "link" and caller.subject == SUBJECT + name:
                raise RequestRefused(409, "This is your own account: another administrator must change it.")
            if action == "link":
                secret = await accounts.link(name, within)
                said = f"Send {name} this link to set the password: it works once, within {LINK_DAYS} days."
                return _AccountChange(said, f"account {name}: link", tenants, secret)
            await getattr(accounts, action)(name, within)
            done = f"{action.removesuffix('e')}ed"
            return _AccountChange(f"The account {name} was {done}.", f"account {name}: {done}", tenants)
    places, role = _places(form), form.field("role")
    if "change" in form:
        account = await accounts.find(form.field("change"), within)
        await accounts.change(account.name, role, places, within)
        tenants = frozenset({account.access.tenant, ProjectSet.parse(places).tenant})
        return _AccountChange(f"The account {account.name} was changed.", f"account {account.name}: {role}", tenants)
    name = account_name(form.field("name"))
    secret = await accounts.add(name, role, places, within, caller.subject)
    return _AccountChange(
        f"{name} was added. Send this link to set the password: it works once, within {LINK_DAYS} days.",
        f"account {name}: added as {role}",
        frozenset({ProjectSet.parse(places).tenant}),
        secret,
    )


def _places(form: Form) -> list[str]:
    """Return the projects that were selected or typed in the form."""
    return [one for one in [*form.get("place", []), *form.field("places").replace(",", " ").split()] if one]
