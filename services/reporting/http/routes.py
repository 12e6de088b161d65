"""All routers of the HTTP API, re-exported for `service.py`."""

from reporting.http.alerts import alerts_router
from reporting.http.conversations import conversations_router
from reporting.http.exports import exports_router
from reporting.http.figures import figures_router
from reporting.http.issues import issues_router
from reporting.http.reviews import audit_router
from reporting.http.webhooks import webhooks_router

__all__ = [
    "alerts_router",
    "audit_router",
    "conversations_router",
    "exports_router",
    "figures_router",
    "issues_router",
    "webhooks_router",
]
