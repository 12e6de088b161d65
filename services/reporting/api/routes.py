"""All routers and paths of the HTTP API, re-exported for `service.py`."""

from reporting.api.alerts import ALERTS, REMOVALS, RULES, TESTS, alerts_router
from reporting.api.audit.routes import AUDIT, DRAWS, audit_router
from reporting.api.conversations import CONVERSATION, PROJECT, conversations_router
from reporting.api.exports import COUNTS, EXPORT, exports_router
from reporting.api.figures import SESSIONS, figures_router
from reporting.api.issues import CHANGE, ISSUE, ISSUES, MERGE, SPLIT, issues_router
from reporting.api.webhooks import REPLAY, WEBHOOKS, webhooks_router

__all__ = [
    "ALERTS",
    "AUDIT",
    "CHANGE",
    "CONVERSATION",
    "COUNTS",
    "DRAWS",
    "EXPORT",
    "ISSUE",
    "ISSUES",
    "MERGE",
    "PROJECT",
    "REMOVALS",
    "REPLAY",
    "RULES",
    "SESSIONS",
    "SPLIT",
    "TESTS",
    "WEBHOOKS",
    "alerts_router",
    "audit_router",
    "conversations_router",
    "exports_router",
    "figures_router",
    "issues_router",
    "webhooks_router",
]
