"""All routers of the HTTP API, re-exported for `service.py`."""

from reporting.api.alerts import alerts_router
from reporting.api.audit.routes import audit_router
from reporting.api.conversations import conversations_router
from reporting.api.exports import exports_router
from reporting.api.figures import figures_router
from reporting.api.issues import issues_router
from reporting.api.webhooks import webhooks_router

__all__ = [
    "alerts_router",
    "audit_router",
    "conversations_router",
    "exports_router",
    "figures_router",
    "issues_router",
    "webhooks_router",
]
