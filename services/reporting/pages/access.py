"""Access page: the caller's own rights, and the API keys that administrators manage."""

from __future__ import annotations

from typing import Final

import asyncpg
from fastapi import Request, Response

from contracts.scopes import ADMIN, ALL_SCOPES, READ
from reporting.access.keys import DEFAULT_DAYS, MOST_DAYS, ApiKeys, NewKey
from reporting.access.log import MOST_ENTRIES, AccessLog
from reporting.access.sign_in import refused_page
from reporting.pages.alerts import FormOutcome
from reporting.pages.erasure import tenants_of
from reporting.pages.forms import Form
from reporting.pages.rendering import page
from reporting.read_models.projects import projects
from servicekit.errors import RequestRefused
from servicekit.web.auth import Caller
from servicekit.web.projects import ProjectSet
from servicekit.web.routes import Routes

ACCESS: Final = "/dashboard/access"
KEYS: Final = ACCESS + "/keys"
_ALL: Final = "*"


async def _changed(keys: ApiKeys, form: Form, caller: Caller) -> tuple[str, NewKey | None]:
    """Revoke, renew or create a key, as the form asks. Return a sentence, and the key if there is a new secret."""
    if "revoke" in form:
        return f"The key of {await keys.revoke(form.field('revoke'), caller)} was revoked.", None
    if "renew" in form:
        key = await keys.renew(form.field("renew"), str(DEFAULT_DAYS), caller)
    else:
        scopes = form.get("scope", [])
        key = await keys.add(form.field("name"), scopes, _projects(form), form.field("days"), caller)
    return f"Send this key to {key.name}: it is not stored and cannot be shown again.", key


def access_router(keys: ApiKeys, reads: asyncpg.Pool, log: AccessLog) -> Routes:
    """Return the routes of the access page."""
    router = Routes("pages", token=False, hidden=True, page=refused_page)

    async def render(
        request: Request, outcome: FormOutcome | None = None, status: int = 200, key: NewKey | None = None
    ) -> Response:
        caller: Caller = request.state.caller
        access, is_admin = ProjectSet.of(caller), ADMIN in caller.scopes
        own = await projects(reads, caller.tenant, caller.projects) if is_admin else []
        names = [f"{project.tenant}/{project.project}" for project in own]
        whole = [f"{access.tenant}/{_ALL}"] if access.projects == (_ALL,) and access.tenant != _ALL else []
        return page(
            "access.html",
            status,
            signed_in=True,
            operates=is_admin,
            name=caller.member_name,
            scopes=sorted(caller.scopes),
            all_scopes=sorted(ALL_SCOPES & caller.scopes),
            access=access.names,
            keys=await keys.list(caller) if is_admin else [],
            new_key=key,
            log=await log.newest(caller) if is_admin else [],
            most_entries=MOST_ENTRIES,
            default_days=DEFAULT_DAYS,
            most_days=MOST_DAYS,
            admin=is_admin,
            places=[*whole, *names],
            tenants=await tenants_of(reads, caller) if is_admin else [],
            outcome=outcome,
        )

    async def show(request: Request) -> Response:
        return await render(request)

    async def change_keys(request: Request) -> Response:
        try:
            sentence, key = await _changed(keys, await Form.read(request), request.state.caller)
        except RequestRefused as refusal:
            return await render(request, FormOutcome(str(refusal), failed=True), status=refusal.status)
        return await render(request, FormOutcome(sentence), key=key)

    router.show("POST", KEYS, ADMIN, change_keys)
    router.show("GET", ACCESS, READ, show)
    return router


def _projects(form: Form) -> list[str]:
    """Return the projects that were selected or typed in the form."""
    names = [*form.get("place", []), *form.field("places").replace(",", " ").split()]
    return [name for name in names if name]
