"""Every default that the documents state, against the running value.

The rows are written by hand from the documents, whose `sentence` must still be there.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import SecretStr
from pydantic_settings import BaseSettings
from typer.testing import CliRunner

from agent_feedback_kit import AsyncClient, Client
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.webhook_map import Rule, Signature, WebhookMap
from chat_completions import endpoint
from feedback.api_sessions import GivenEnd
from feedback.service import PROGRAM
from feedback.settings import FeedbackSettings
from inference import planner
from inference.api_bodies import NewMessage
from inference.detection import RECENT_TURNS
from inference.settings import InferenceSettings
from inference.turns import search_postgres as search
from inference.turns.store import SIMILARITY_THRESHOLD
from reporting.alerts import decisions, evaluation, sequential
from reporting.alerts.rules import DeadLetters, Lag, SatisfactionBelow, Silence
from reporting.api.query_parameters import DEFAULT_DAYS
from reporting.egress.exports.cases import CONTEXT
from reporting.egress.mirror.mirror import DELETE_AGAIN_AFTER
from reporting.egress.webhooks.courier import ATTEMPT_SECONDS
from reporting.egress.webhooks.schedule import LONGEST_ASKED, RETRY_DELAYS
from reporting.issues import encoding, grouping, job, worker
from reporting.issues.reading import TREND_DAYS
from reporting.queries import paging
from reporting.queries.cursor import CURSOR_LIMIT
from reporting.queries.search import SCANNED_LIMIT
from reporting.read_models import rollups
from reporting.settings import ReportingSettings
from servicekit import launcher
from servicekit.circuit_breaker import CircuitBreaker
from servicekit.log.settings import KafkaSettings
from servicekit.pseudonyms import ErasureSettings
from servicekit.redaction.settings import RedactionSettings
from servicekit.tracing import TracingSettings
from servicekit.web.auth_settings import AuthSettings
from servicekit.web.settings import HttpSettings
from standalone.cli import up as command
from standalone.cli.app import app
from standalone.embedded import backpressure
from standalone.one_process import up
from standalone.operations.sizing import size_for
from standalone.terminal import ANSWER_SECONDS

ROOT = Path(__file__).parents[2]
SETTINGS: Mapping[str, type[BaseSettings]] = {
    "CHAT_BRIDGE_": ChatBridgeSettings,
    "FEEDBACK_": FeedbackSettings,
    "INFERENCE_": InferenceSettings,
    "REPORTING_": ReportingSettings,
    "HTTP_": HttpSettings,
    "KAFKA_": KafkaSettings,
    "ERASURE_": ErasureSettings,
    "REDACTION_": RedactionSettings,
    "AUTH_": AuthSettings,
    "TRACING_": TracingSettings,
}
UNSET = object()
"""The value of a setting that the documents call empty: None, or an empty text, table or secret."""
HERE = "localhost:9092"
DATABASE = "postgresql://localhost/agent_feedback"

OF_THE_EXAMPLE: Mapping[str, Any] = {
    "CHAT_BRIDGE_BROKER": HERE,
    "CHAT_BRIDGE_DATABASE_URL": DATABASE,
    "CHAT_BRIDGE_MESSAGE_DAYS": 180,
    "CHAT_BRIDGE_REFUSED_DAYS": 7,
    "CHAT_BRIDGE_JOURNAL_DAYS": 7,
    "FEEDBACK_JOURNAL_DAYS": 7,
    "INFERENCE_JOURNAL_DAYS": 7,
    "REPORTING_JOURNAL_DAYS": 7,
    "CHAT_BRIDGE_PARKED_DAYS": 7,
    "CHAT_BRIDGE_PARKED_LIMIT": 100_000,
    "CHAT_BRIDGE_SWEEP_SECONDS": 5,
    "CHAT_BRIDGE_LOG_SECONDS": 5,
    "CHAT_BRIDGE_MESSAGE_SOURCE_URL": UNSET,
    "CHAT_BRIDGE_MESSAGE_SOURCE_TOKEN": UNSET,
    "CHAT_BRIDGE_MESSAGE_SOURCE_SECONDS": 2,
    "CHAT_BRIDGE_MESSAGE_SOURCE_AGAIN_SECONDS": 60,
    "CHAT_BRIDGE_SLACK_SIGNING_SECRET": UNSET,
    "CHAT_BRIDGE_SLACK_TENANT": "default",
    "CHAT_BRIDGE_SLACK_PROJECT": "slack",
    "CHAT_BRIDGE_SLACK_AGENTS": {},
    "CHAT_BRIDGE_WEBHOOK_MAPS": UNSET,
    "FEEDBACK_BROKER": HERE,
    "FEEDBACK_STORE_URL": DATABASE,
    "FEEDBACK_DATABASE_URL": DATABASE,
    "FEEDBACK_EMOJI_REWARDS": {},
    "FEEDBACK_EMOJI_REWARDS_OF": {},
    "FEEDBACK_SCALES": {},
    "FEEDBACK_SCALES_OF": {},
    "FEEDBACK_LOG_SECONDS": 5,
    "FEEDBACK_TURN_SECONDS": 2,
    "FEEDBACK_SESSION_SECONDS": 0.8,
    "FEEDBACK_SESSION_DAYS": 180,
    "FEEDBACK_DEFAULT_TENANT": "default",
    "FEEDBACK_READ_POOL_SIZE": 3,
    "FEEDBACK_ROW_SECURITY": True,
    "FEEDBACK_TURN_DAYS": 730,
    "FEEDBACK_STUB_DAYS": 30,
    "FEEDBACK_ERASURE_STATUS_DAYS": 730,
    "FEEDBACK_PERSON_LIMIT": 60,
    "FEEDBACK_AGGREGATE_AFTER": 0,
    "FEEDBACK_AGGREGATE_QUIET_SECONDS": 60,
    "INFERENCE_BROKER": HERE,
    "INFERENCE_DATABASE_URL": DATABASE,
    "INFERENCE_READ_POOL_SIZE": 3,
    "INFERENCE_ROW_SECURITY": True,
    "INFERENCE_SENTENCE_ENCODER": "auto",
    "INFERENCE_TARGET_PRECISION": 0.7,
    "INFERENCE_CONVERSATION_DAYS": 365,
    "INFERENCE_TURN_DAYS": 730,
    "INFERENCE_GATE_ANSWER_DAYS": 30,
    "INFERENCE_GATE_URL": UNSET,
    "INFERENCE_GATE_MODEL": UNSET,
    "INFERENCE_GATE_KEY": UNSET,
    "INFERENCE_GATE_SECONDS": 3,
    "INFERENCE_GATE_BATCH_SECONDS": 4,
    "INFERENCE_GATE_AT_ONCE": 16,
    "INFERENCE_INDEX_SECONDS": 2,
    "REPORTING_BROKER": HERE,
    "REPORTING_DATABASE_URL": DATABASE,
    "REPORTING_POOL_SIZE": 4,
    "REPORTING_READ_POOL_SIZE": 3,
    "REPORTING_READ_DATABASE_URL": UNSET,
    "REPORTING_READ_LAG_SECONDS": 5,
    "REPORTING_SENTENCE_ENCODER": "auto",
    "REPORTING_TITLE_URL": UNSET,
    "REPORTING_TITLE_MODEL": UNSET,
    "REPORTING_TITLE_KEY": UNSET,
    "REPORTING_MESSAGE_DAYS": 0,
    "REPORTING_FEEDBACK_DAYS": 0,
    "REPORTING_TOMBSTONE_DAYS": 30,
    "REPORTING_IMPRESSION_DAYS": 90,
    "REPORTING_TRACE_URL_TEMPLATE": UNSET,
    "REPORTING_ROW_SECURITY": True,
    "REPORTING_ATTRIBUTES": "language,channel,experiment,arm,variant",
    "REPORTING_WEBHOOKS": UNSET,
    "REPORTING_WEBHOOK_DAYS": 7,
    "REPORTING_ALERTS": UNSET,
    "REPORTING_IDENTITY_PROVIDER": UNSET,
    "REPORTING_ALERT_DAYS": 90,
    "REPORTING_SECRET_KEY": UNSET,
    "REPORTING_PRIVATE_CHANNELS": False,
    "REPORTING_PERSON_LIMIT": 60,
    "REPORTING_BURST_TURNS": 20,
    "REPORTING_SHARED_USERS": UNSET,
    "REPORTING_RESOLVED_NOTICE_MINUTES": 0,
    "REPORTING_RESOLVED_NOTICE_DAYS": 7,
    "REPORTING_SESSION_DAYS": 7,
    "REPORTING_ACCESS_LOG_DAYS": 365,
    "REPORTING_ARTIFACT_STORE_URL": UNSET,
    "REPORTING_ARTIFACT_TURN_LOGS": False,
    "HTTP_REQUEST_SECONDS": 10,
    "HTTP_HEADER_SECONDS": 10,
    "HTTP_RESPONSE_SECONDS": 30,
    "HTTP_CONNECTIONS": 512,
    "KAFKA_SECURITY_PROTOCOL": "PLAINTEXT",
    "KAFKA_SASL_MECHANISM": "PLAIN",
    "KAFKA_SASL_USERNAME": UNSET,
    "KAFKA_SASL_PASSWORD": UNSET,
    "KAFKA_SSL_CA": UNSET,
    "KAFKA_SSL_CERT": UNSET,
    "KAFKA_SSL_KEY": UNSET,
    "KAFKA_SSL_KEY_PASSWORD": UNSET,
    "ERASURE_IDS": "keep",
    "ERASURE_IDS_OF": {},
    "ERASURE_KEY": UNSET,
    "REDACTION_KINDS": frozenset({"card", "iban", "key"}),
    "REDACTION_PATTERNS": {},
    "REDACTION_PATTERNS_OF": {},
    "REDACTION_PRESIDIO_LANGUAGE": UNSET,
    "REDACTION_PRESIDIO_ENTITIES": ("PERSON",),
    "AUTH_ISSUER": UNSET,
    "AUTH_AUDIENCE": UNSET,
    "AUTH_JWKS_URL": UNSET,
    "AUTH_ALGORITHMS": ("RS256", "ES256"),
    "AUTH_LEEWAY_SECONDS": 30,
    "AUTH_SUBJECT_CLAIM": "sub",
    "AUTH_TENANT_CLAIM": "tenant",
    "AUTH_PROJECT_CLAIM": "project",
    "AUTH_SCOPE_CLAIM": "scope",
    "AUTH_ACCOUNTS_URL": UNSET,
    "AUTH_ALL_TENANTS": UNSET,
    "AUTH_CORS_ORIGINS": UNSET,
    "TRACING_URL": UNSET,
    "TRACING_SHARE": 0.01,
}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith((*SETTINGS, "TRACE_URL_", "ARTIFACT_STORE_")):
            monkeypatch.delenv(name)


def setting(variable: str) -> Any:
    """Return the value of a setting that nothing sets."""
    prefix = next(one for one in SETTINGS if variable.startswith(one))
    value = getattr(SETTINGS[prefix](), variable.removeprefix(prefix).lower())
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    return UNSET if plain is None or plain in ("", ()) else plain


def option(command: str, name: str) -> Any:
    """Return the default of an option of `agent-feedback COMMAND`."""
    found: Any = typer.main.get_command(app)
    for part in command.split():
        found = found.commands[part]
    (parameter,) = (one for one in found.params if one.name == name)
    return parameter.default


@dataclass(frozen=True)
class Stated:
    """A default that `document` states in `sentence`; `running` reads the value in use."""

    document: str
    sentence: str
    value: Any
    running: Callable[[], Any]

    def __str__(self) -> str:
        return f"{self.document}: {self.sentence}"


def of_setting(document: str, sentence: str, variable: str, value: Any) -> Stated:
    return Stated(document, sentence, value, lambda: setting(variable))


def of_field(document: str, sentence: str, model: Any, field: str, value: Any) -> Stated:
    return Stated(document, sentence, value, lambda: model.model_fields[field].get_default())


def of_option(document: str, sentence: str, command: str, name: str, value: Any) -> Stated:
    return Stated(document, sentence, value, lambda: option(command, name))


def of_argument(document: str, sentence: str, function: Any, name: str, value: Any) -> Stated:
    return Stated(document, sentence, value, lambda: inspect.signature(function).parameters[name].default)


ALERTS = "docs/decisions/0132-alerts-are-sequential-tests-by-day.md"
ISSUES = "docs/decisions/0124-an-issue-keeps-its-turns.md"
HTTP, TEXTS, SOURCES, GATE = "docs/http.md", "docs/texts.md", "docs/sources.md", "docs/detector_operations.md"
STATED = (
    of_setting(HTTP, "`AUTH_ALGORITHMS` (default `RS256,ES256`", "AUTH_ALGORITHMS", ("RS256", "ES256")),
    of_setting(HTTP, "off by default, and `*` is refused", "AUTH_CORS_ORIGINS", UNSET),
    of_setting(HTTP, "begins within 10 s (`HTTP_REQUEST_SECONDS`)", "HTTP_REQUEST_SECONDS", 10),
    of_setting(HTTP, "must arrive within 10 s (`HTTP_HEADER_SECONDS`)", "HTTP_HEADER_SECONDS", 10),
    of_setting(HTTP, "every 30 s (`HTTP_RESPONSE_SECONDS`)", "HTTP_RESPONSE_SECONDS", 30),
    of_setting(HTTP, "At most 512 connections are open (`HTTP_CONNECTIONS`", "HTTP_CONNECTIONS", 512),
    of_setting(HTTP, "within 5 s (`FEEDBACK_LOG_SECONDS`)", "FEEDBACK_LOG_SECONDS", 5),
    of_setting(HTTP, "after 2 s (`FEEDBACK_TURN_SECONDS`)", "FEEDBACK_TURN_SECONDS", 2),
    of_setting(HTTP, "`CHAT_BRIDGE_MESSAGE_SOURCE_SECONDS` (2)", "CHAT_BRIDGE_MESSAGE_SOURCE_SECONDS", 2),
    of_setting(HTTP, "`CHAT_BRIDGE_MESSAGE_SOURCE_AGAIN_SECONDS` (60)", "CHAT_BRIDGE_MESSAGE_SOURCE_AGAIN_SECONDS", 60),
    of_field(HTTP, "| `memory_mode` | `local` (default)", GivenEnd, "memory_mode", "local"),
    of_field("docs/inference_http.md", '(default `"conversation"`)', NewMessage, "look_back", "conversation"),
    of_setting("docs/inference.md", "`INFERENCE_TARGET_PRECISION` (0.70)", "INFERENCE_TARGET_PRECISION", 0.7),
    of_setting("docs/inference_http.md", "`INFERENCE_INDEX_SECONDS` (2)", "INFERENCE_INDEX_SECONDS", 2),
    of_setting(TEXTS, "180 days (`CHAT_BRIDGE_MESSAGE_DAYS`)", "CHAT_BRIDGE_MESSAGE_DAYS", 180),
    of_setting(TEXTS, "7 days (`CHAT_BRIDGE_PARKED_DAYS`)", "CHAT_BRIDGE_PARKED_DAYS", 7),
    of_setting(TEXTS, "remains for 30 days (`FEEDBACK_STUB_DAYS`)", "FEEDBACK_STUB_DAYS", 30),
    of_setting(TEXTS, "`turns`, `session_feedback` | none | 730 and 180 days", "FEEDBACK_TURN_DAYS", 730),
    of_setting(TEXTS, "| none | 730 and 180 days", "FEEDBACK_SESSION_DAYS", 180),
    of_setting(TEXTS, "last message (`INFERENCE_CONVERSATION_DAYS`)", "INFERENCE_CONVERSATION_DAYS", 365),
    of_setting(TEXTS, "730 days (`INFERENCE_TURN_DAYS`)", "INFERENCE_TURN_DAYS", 730),
    of_setting(TEXTS, "digests and the model's verdicts | 30 days", "INFERENCE_GATE_ANSWER_DAYS", 30),
    of_setting(TEXTS, "90 days (`REPORTING_IMPRESSION_DAYS`)", "REPORTING_IMPRESSION_DAYS", 90),
    of_setting(TEXTS, "7 days (`REPORTING_WEBHOOK_DAYS`)", "REPORTING_WEBHOOK_DAYS", 7),
    of_setting(TEXTS, "(`ARTIFACT_STORE_URL`, off by default)", "REPORTING_ARTIFACT_STORE_URL", UNSET),
    of_setting(TEXTS, "receivers of webhooks (off by default)", "REPORTING_WEBHOOKS", UNSET),
    of_setting(TEXTS, "(`INFERENCE_GATE_URL`, off by default)", "INFERENCE_GATE_URL", UNSET),
    of_setting(TEXTS, "(`REPORTING_TITLE_URL`, off by default)", "REPORTING_TITLE_URL", UNSET),
    of_setting("docs/deployment.md", "`REPORTING_TITLE_URL`, off by default", "REPORTING_TITLE_URL", UNSET),
    of_setting("docs/deployment.md", "`INFERENCE_GATE_URL`, off by default", "INFERENCE_GATE_URL", UNSET),
    of_setting(HTTP, "60 judgements a minute (`FEEDBACK_PERSON_LIMIT`)", "FEEDBACK_PERSON_LIMIT", 60),
    of_setting("docs/aggregates.md", "`FEEDBACK_AGGREGATE_AFTER` is 0 by default", "FEEDBACK_AGGREGATE_AFTER", 0),
    of_setting("docs/suspects.md", "at least 20 turns (`REPORTING_BURST_TURNS`)", "REPORTING_BURST_TURNS", 20),
    of_setting("docs/suspects.md", "first 60 in a minute (`REPORTING_PERSON_LIMIT`)", "REPORTING_PERSON_LIMIT", 60),
    of_setting(
        "docs/notices.md", "`REPORTING_RESOLVED_NOTICE_MINUTES` is 0 by default", "REPORTING_RESOLVED_NOTICE_MINUTES", 0
    ),
    of_setting("docs/notices.md", "resolutions of the last seven days", "REPORTING_RESOLVED_NOTICE_DAYS", 7),
    of_setting("docs/deployment.md", "Kafka at localhost:9092", "FEEDBACK_BROKER", HERE),
    of_setting(GATE, "`INFERENCE_GATE_URL`, `_MODEL`, `_KEY` | none", "INFERENCE_GATE_KEY", UNSET),
    of_setting(GATE, "| `INFERENCE_GATE_SECONDS` | 3 |", "INFERENCE_GATE_SECONDS", 3),
    of_setting(GATE, "| `INFERENCE_GATE_BATCH_SECONDS` | 4 |", "INFERENCE_GATE_BATCH_SECONDS", 4),
    of_setting(GATE, "| `INFERENCE_GATE_AT_ONCE` | 16 |", "INFERENCE_GATE_AT_ONCE", 16),
    of_argument(GATE, "After five consecutive failures", CircuitBreaker, "failures_limit", 5),
    of_argument(GATE, "sends no questions to the endpoint for 30 s", CircuitBreaker, "rest_seconds", 30),
    of_setting(SOURCES, '`CHAT_BRIDGE_SLACK_TENANT` | text | `"default"`', "CHAT_BRIDGE_SLACK_TENANT", "default"),
    of_setting(SOURCES, '`CHAT_BRIDGE_SLACK_PROJECT` | text | `"slack"`', "CHAT_BRIDGE_SLACK_PROJECT", "slack"),
    of_field(SOURCES, '`"rfc3339"` | The kind of times', WebhookMap, "time", "rfc3339"),
    of_field(SOURCES, '`"plain"` | The format of texts', WebhookMap, "text", "plain"),
    of_field(SOURCES, '`"text"` | The encoding of the secret', Signature, "key_encoding", "text"),
    of_field(SOURCES, '`"hex"` | The encoding of the signature', Signature, "encoding", "hex"),
    of_field(SOURCES, '`"{body}"` | The signed text', Signature, "signed", "{body}"),
    of_field(SOURCES, "`300` | The maximum difference", Signature, "window_seconds", 300),
    of_field(SOURCES, '`"anyone"` | `agents`: ignore authors', Rule, "writers", "anyone"),
    of_field(SOURCES, '`"added"` | The change of a reaction', Rule, "action", "added"),
    Stated("docs/webhooks.md", "200 to 299 within 15 seconds", 15, lambda: ATTEMPT_SECONDS),
    Stated(
        "docs/webhooks.md",
        "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h",
        (5, 5 * 60, 30 * 60, *(hours * 3600 for hours in (2, 5, 10, 14, 20, 24))),
        lambda: RETRY_DELAYS,
    ),
    of_argument("libs/agentkit/README.md", "`timeout` (10 seconds)", Client.__init__, "timeout", 10),
    of_argument("libs/agentkit/README.md", "`timeout` (10 seconds)", AsyncClient.__init__, "timeout", 10),
    of_option("docs/deployment.md", "the default log is in memory", "up", "broker", "memory"),
    of_option("docs/sizing.md", "calculated for 180 days of data", "sizing", "days", 180),
    of_argument("docs/sizing.md", "calculated for 180 days of data", size_for, "days", 180),
    of_option("docs/sizing.md", "events a day / 86,400 × peak (4)", "sizing", "peak", 4),
    of_argument("docs/sizing.md", "events a day / 86,400 × peak (4)", size_for, "peak", 4),
    Stated("docs/commands.md", "gives up after 20 s", 20, lambda: ANSWER_SECONDS),
    Stated("docs/webhooks.md", "to at most an hour", 3_600, lambda: LONGEST_ASKED),
    Stated("docs/alerts.md", "While more than 1,000 records wait for reporting", 1_000, lambda: evaluation.BEHIND),
    Stated("docs/alerts.md", "became dead letters within an hour", 60, lambda: evaluation._LETTER_MINUTES),
    Stated("docs/alerts.md", "A test needs at least 20 verdicts", 20, lambda: decisions.LEAST_VOTES),
    Stated("docs/alerts.md", "compared with the 28 days before", 28, lambda: decisions.BEFORE_DAYS),
    of_field("docs/alerts.md", "one of the last `days` (7)", SatisfactionBelow, "days", 7),
    of_field("docs/alerts.md", "no verdict in the last `hours` (24)", Silence, "hours", 24),
    of_field("docs/alerts.md", "at least `least` (10)", Silence, "least", 10),
    of_field("docs/alerts.md", "more than `more_than` (0) records", DeadLetters, "more_than", 0),
    of_field("docs/alerts.md", "more than `more_than` (10,000) records", Lag, "more_than", 10_000),
    of_field("docs/alerts.md", "in the log for `minutes` (5)", Lag, "minutes", 5),
    Stated(ALERTS, "crosses this boundary with a probability of at most 2 %", 0.02, lambda: sequential.ALPHA),
    Stated(ISSUES, "but at least 5 and at most 20 turns", 20, lambda: job._ENOUGH),
    Stated(ISSUES, "but at least 5 and", 5, lambda: job._FEW),
    Stated(ISSUES, "reaches 10 % of the agent's turns", 10, lambda: 100 // job._SHARE),
    Stated(ISSUES, "pairwise cosine similarity of its turns is at least 0.3.", 0.3, lambda: encoding._COHERENCE),
    Stated(
        "docs/decisions/0134-almost-equal-turns-are-clustered-as-one.md",
        "similarity of at least 0.85",
        0.85,
        lambda: grouping._SAME,
    ),
    Stated(ISSUES, "with the newest other turns, at most 5,000", 5_000, lambda: grouping.MOST),
    Stated(ISSUES, "answer (weight 0.2)", 0.2, lambda: grouping._ANSWER),
    Stated(ISSUES, "Why 20 principal components", 20, lambda: grouping._DIMENSIONS),
    Stated("docs/reporting.md", "at least three turns become issues", 3, lambda: grouping.SMALLEST),
    Stated("docs/reporting.md", "newest 2,000 answers", 2_000, lambda: worker._ANSWERS),
    Stated("docs/reporting.md", "answers of 90 days with the issue", 90, lambda: worker._COUNTED_DAYS),
    Stated(
        "docs/reporting.md",
        "recounts stale hours that have not changed for ten seconds",
        10,
        lambda: rollups.QUIET_SECONDS,
    ),
    Stated("docs/operations.md", "After fifteen minutes `/health/ready`", 15, lambda: rollups.WARNING_MINUTES),
    Stated("docs/operations.md", "deleted fifteen minutes later", 15 * 60_000_000, lambda: DELETE_AGAIN_AFTER),
    Stated("docs/reporting.md", "`prompt` has up to 20 messages", 20, lambda: CONTEXT),
    Stated(HTTP, "by default 30 days before the end", 30, lambda: DEFAULT_DAYS),
    Stated(HTTP, "a page scans at most 10,000 records", 10_000, lambda: SCANNED_LIMIT),
    Stated(HTTP, "newest activity first, at most 2 MiB", 2 * 2**20, lambda: paging.PAGE_BYTES),
    Stated(HTTP, "only the first 1 MiB of texts", 2**20, lambda: paging.ITEM_BYTES),
    Stated(HTTP, "`cursor` | text up to 8,000", 8_000, lambda: CURSOR_LIMIT),
    Stated(HTTP, "each of the last 14 UTC days", 14, lambda: TREND_DAYS),
    Stated("docs/inference_http.md", "has a similarity of at least 0.35", 0.35, lambda: SIMILARITY_THRESHOLD),
    Stated("docs/inference_http.md", "latest 20,000 answered turns", 20_000, lambda: search.SCANNED_TURNS_LIMIT),
    Stated("docs/inference_http.md", "The 45 turns with the most similar vectors", 45, lambda: search.NEAREST),
    Stated("docs/inference_http.md", "and the 5 latest turns are compared", 5, lambda: search.LATEST),
    Stated("docs/inference_http.md", "in the latest ten turns", 10, lambda: RECENT_TURNS),
    Stated("docs/inference_http.md", "the latest five turns", 5, lambda: planner.RECENT),
    Stated("docs/inference_http.md", "at most 500 characters of a message", 500, lambda: planner.QUOTE),
    Stated("docs/inference_http.md", "and 120 characters elsewhere", 120, lambda: planner.GIST),
    Stated("docs/inference_http.md", "after two or more consecutive rejections", 2, lambda: planner.CAREFUL_FROM),
    Stated(GATE, "or a body over 64 KiB", 64 * 2**10, lambda: endpoint.ANSWER_LIMIT),
    Stated(
        "docs/operations.md", "The in-process log keeps 5 MiB per partition", 5 * 2**20, lambda: backpressure.KEPT_BYTES
    ),
)
"""Defaults that are not in .env.example, and those that documents repeat."""


@pytest.mark.parametrize("stated", STATED, ids=str)
def test_a_default_is_the_stated_one(stated: Stated) -> None:
    text = (ROOT / stated.document).read_text("utf-8")
    assert re.sub(r"\s+", " ", stated.sentence) in re.sub(r"\s+", " ", text)
    assert stated.running() == stated.value


@pytest.mark.parametrize("variable", OF_THE_EXAMPLE)
def test_a_setting_has_the_value_of_the_example(variable: str) -> None:
    assert setting(variable) == OF_THE_EXAMPLE[variable]


def commands(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands below a group with their names."""
    for part, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, f"{name}{part} ")
        else:
            yield f"{name}{part}", found


def _flags(command: Any) -> list[Any]:
    return [one for one in command.params if getattr(one, "is_flag", False)]


def test_every_flag_of_a_command_is_off_unless_it_is_given() -> None:
    """`agent-feedback COMMAND --help`: no flag has a counterpart that would turn it off."""
    root: Any = typer.main.get_command(app)
    found = {
        name: [one for one in command.params if getattr(one, "is_flag", False)] for name, command in commands(root)
    }
    found["version"] = [one for one in root.params if one.name == "version"]
    assert {"where", "users list", "version"} <= {name for name, flags in found.items() if flags}
    assert [f"{name} {one.opts[0]}" for name, flags in found.items() for one in flags if one.default] == []


@pytest.mark.parametrize(("arguments", "port"), [([], 8080), (["--exit"], 0)])
def test_up_takes_port_8080_or_with_exit_a_free_one(
    arguments: list[str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up --help`: default 8080, with --exit 0 (a free port)."""
    options: list[up.Options] = []
    monkeypatch.setattr(up, "up", lambda given, *_: options.append(given))
    monkeypatch.setattr(command, "run_work", lambda *_: None)
    CliRunner().invoke(app, ["up", *arguments])
    assert [one.port for one in options] == [port]


@pytest.mark.parametrize("option", ["--outcomes", "--fates"])
def test_up_takes_the_old_name_of_outcomes(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CHANGELOG.md: `--fates` is the old name of `--outcomes`."""
    options: list[up.Options] = []
    monkeypatch.setattr(up, "up", lambda given, *_: options.append(given))
    monkeypatch.setattr(command, "run_work", lambda *_: None)
    CliRunner().invoke(app, ["up", option, "outcomes.jsonl"])
    assert [one.outcomes for one in options] == [Path("outcomes.jsonl")]


def test_a_service_listens_on_loopback_at_port_8080(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m SERVICE --help`: an address and a port with their defaults."""
    started: list[tuple[str, int]] = []
    monkeypatch.setattr(launcher, "run_program", lambda _, host, port, token: started.append((host, port)))
    monkeypatch.setattr("servicekit.launcher.uvloop.run", lambda _: None)
    for part in ("configure_logging", "raise_again", "share_one_arena", "read_env_file"):
        monkeypatch.setattr(launcher, part, lambda: None)
    monkeypatch.setattr("sys.argv", ["feedback"])
    launcher.main(PROGRAM)
    assert started == [("127.0.0.1", 8080)]


def test_every_setting_of_the_example_has_a_row() -> None:
    """A line with a value, commented out or not, names a setting; the single access token belongs to no service."""
    named = re.findall(r"^(?:# )?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE)
    assert {*named} - {"AGENT_FEEDBACK_TOKEN"} == {*OF_THE_EXAMPLE}


@pytest.mark.parametrize("variable", OF_THE_EXAMPLE)
def test_the_example_shows_the_value(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An uncommented line has the row's value."""
    lines = (ROOT / ".env.example").read_text("utf-8").splitlines()
    shown = [line.partition("=")[2] for line in lines if line.startswith(f"{variable}=")]
    monkeypatch.setenv(variable, *(shown or [""]))
    assert setting(variable) == OF_THE_EXAMPLE[variable]
