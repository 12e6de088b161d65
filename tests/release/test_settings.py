"""The example settings and the compose file name only existing settings, and every setting is in the example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pydantic_settings import BaseSettings

from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.log.redacting import RedactionSettings
from servicekit.log.settings import KafkaSettings
from servicekit.pseudonyms import ErasureSettings
from servicekit.tracing import TracingSettings
from servicekit.web.auth_settings import AuthSettings
from servicekit.web.failures import HttpSettings

ROOT = Path(__file__).parents[2]
SETTINGS: tuple[type[BaseSettings], ...] = (
    ChatBridgeSettings,
    FeedbackSettings,
    InferenceSettings,
    ReportingSettings,
    AuthSettings,
    HttpSettings,
    KafkaSettings,
    ErasureSettings,
    RedactionSettings,
    TracingSettings,
)


def names_of(settings: type[BaseSettings]) -> set[str]:
    return {f"{settings.model_config['env_prefix']}{name}".upper() for name in settings.model_fields}


def shown() -> dict[str, str]:
    lines = re.findall(r"^#? ?([A-Z][A-Z0-9_]+)=(.*)$", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE)
    return dict(lines)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.__name__)
def test_every_setting_is_shown(settings: type[BaseSettings]) -> None:
    prefix = settings.model_config["env_prefix"]
    assert {name for name in shown() if name.startswith(prefix)} == names_of(settings)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.__name__)
def test_the_shown_values_are_taken(settings: type[BaseSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in shown().items():
        if name in names_of(settings):
            monkeypatch.setenv(name, value)
    settings()


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: one.__name__)
def test_an_empty_setting_is_not_set(settings: type[BaseSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in names_of(settings):
        monkeypatch.setenv(name, "")
    assert settings() == settings.model_construct()


def test_compose_sets_what_exists_and_runs_what_exists() -> None:
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
    known = set().union(*(names_of(one) for one in SETTINGS)) | {"AGENT_FEEDBACK_TOKEN", "FORWARDED_ALLOW_IPS"}
    ours = {name: service for name, service in compose["services"].items() if "build" in service}
    override = yaml.safe_load((ROOT / "deploy" / "compose.override.example.yaml").read_text("utf-8"))
    for name, service in override["services"].items():
        assert set(service["environment"]) <= known, name
        assert name in ours
    assert set(ours) == {"topics", "chat_bridge", "feedback", "inference", "reporting"}
    for name, service in ours.items():
        assert set(service.get("environment", {})) <= known, name
        assert (ROOT / "deploy" / service["build"]["dockerfile"].removeprefix("deploy/")).is_file()
        if name != "topics":
            assert service["command"][:2] == ["run", name]
            assert service["env_file"] == [{"path": ".env", "required": False}], name
            assert service["read_only"] is True, name
        for other in service["depends_on"]:
            assert other in compose["services"]
