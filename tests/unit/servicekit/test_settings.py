"""Settings from the environment, `.env` and TOML files, and the messages about errors in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from feedback.settings import FeedbackSettings
from reporting.outbox.endpoints import read_endpoints
from reporting.settings import ReportingSettings
from servicekit.errors import StartError
from servicekit.settings import Settings, read_env_file, read_settings
from servicekit.web.auth_settings import AuthSettings


@pytest.mark.parametrize("from_file", [False, True], ids=["variable", "file"])
@pytest.mark.parametrize("text", ["hush", " ", "{", "[1]"])
def test_a_value_that_is_not_the_json_it_should_be_is_one_sentence_without_it(
    text: str, from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rewards"
    file.write_text(text + ("." if not text.strip() else ""))
    variable = "FEEDBACK_EMOJI_REWARDS" + "_FILE" * from_file
    monkeypatch.setenv(variable, str(file) if from_file else text)
    with pytest.raises(StartError) as refused:
        read_settings(FeedbackSettings)
    assert str(refused.value) == f'{variable}: must be a JSON object, such as {{"name": "value"}}.'
    assert refused.value.__cause__ is None


def test_what_is_given_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_BROKER", "theirs:9092")
    monkeypatch.setenv("FEEDBACK_TURN_DAYS", "")
    assert read_settings(FeedbackSettings, broker="ours:9092").broker == "ours:9092"
    assert read_settings(FeedbackSettings).turn_days == 730


def test_all_services_share_two_addresses_unless_one_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKER", "kafka:9092")
    monkeypatch.setenv("DATABASE_URL", "postgresql://db/all")
    monkeypatch.setenv("FEEDBACK_DATABASE_URL", "postgresql://db/own")
    settings = FeedbackSettings()
    assert (settings.broker, settings.database_url) == ("kafka:9092", "postgresql://db/own")
    assert settings.store_url == "postgresql://db/all"
    monkeypatch.setenv("DATABASE_URL", "mysql://db/all")
    with pytest.raises(StartError, match=r"^DATABASE_URL: "):
        read_settings(ReportingSettings)


def test_a_projects_table_of_emoji_is_read_on_top_of_everybodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_EMOJI_REWARDS", '{"🤔": 0.1}')
    monkeypatch.setenv("FEEDBACK_EMOJI_REWARDS_OF", '{"acme/support": {":+1:": 1, "🔥": null}}')
    settings = read_settings(FeedbackSettings)
    [(place, rewards)] = settings.project_rewards.items()
    assert (place, rewards["👍"], rewards["🤔"], "🔥" in rewards) == (("acme", "support"), 1, 0.1, False)
    assert (settings.rewards["👍"], settings.rewards["🔥"]) == (0.6, 0.7)


@pytest.mark.parametrize("text", ['{"acme": {}}', '{"acme/a/b": {}}', '{"a b/c": {}}', '{"acme/support": {"👍": 2}}'])
def test_a_projects_table_that_is_not_sound_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_EMOJI_REWARDS_OF", text)
    with pytest.raises(StartError, match="FEEDBACK_EMOJI_REWARDS_OF"):
        read_settings(FeedbackSettings)


@pytest.mark.parametrize(
    ("settings", "variables", "said"),
    [
        (
            FeedbackSettings,
            {"FEEDBACK_STORE_URL": "mysql://me:secret@host/db"},
            "FEEDBACK_STORE_URL: must begin with postgresql:// or mongodb://.",
        ),
        (AuthSettings, {"AUTH_CORS_ORIGINS": "*"}, "AUTH_CORS_ORIGINS: name the sites: * would admit every web page."),
        (
            ReportingSettings,
            {"TRACE_URL_TEMPLATE": "secret"},
            "TRACE_URL_TEMPLATE: String should match pattern '^https?://[^\\x00-\\x20]*\\{trace_id\\}[^\\x00-\\x20]*$'.",
        ),
        (
            ReportingSettings,
            {"REPORTING_READ_POOL_SIZE": "secret", "REPORTING_POOL_SIZE": "1"},
            "REPORTING_READ_POOL_SIZE: Input should be a valid integer, unable to parse string as an integer; "
            "REPORTING_POOL_SIZE: Input should be greater than or equal to 3.",
        ),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_a_setting_that_is_not_valid_is_named_by_its_variable(
    settings: type[Settings], variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StartError) as refused:
        read_settings(settings)
    assert str(refused.value) == said
    assert "secret" not in said


def test_a_setting_from_the_env_file_yields_to_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".env"
    monkeypatch.setattr(os, "environ", dict(os.environ))
    read_env_file(file)
    file.write_text("# ours\nREPORTING_POOL_SIZE=secret\nexport REPORTING_MESSAGE_DAYS='-1'\n")
    monkeypatch.setitem(os.environ, "REPORTING_MESSAGE_DAYS", "-2")
    read_env_file(file)
    with pytest.raises(StartError) as refused:
        read_settings(ReportingSettings)
    assert str(refused.value) == (
        "REPORTING_POOL_SIZE: Input should be a valid integer, unable to parse string as an integer; "
        "REPORTING_MESSAGE_DAYS: Input should be greater than or equal to 0."
    )


ENDPOINT = '[[endpoint]]\nname = "crm"\nurl = "https://crm.example/hook"\ntenant = "acme"\nsecrets = ["CRM_SECRET"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[endpoint]]\nname = "crm"\nurl = secret\n', "is not TOML: Invalid value (at line 3, column 7)."),
        (ENDPOINT + "  secret = 1\n", "is not valid: endpoint.0.secret: an unknown field."),
        (
            ENDPOINT.replace('["CRM_SECRET"]', '[\n  "CRM_SECRET",\n  "secret",\n]'),
            "is not valid: endpoint.0.secrets.1: String should match pattern '^[A-Z][A-Z0-9_]{2,99}$'.",
        ),
        ("", "is not valid: endpoint: Field required."),
    ],
)
def test_a_fault_in_a_webhooks_file_is_named_with_its_field(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(text)
    with pytest.raises(StartError) as refused:
        read_endpoints(file)
    assert str(refused.value) == f"The file {file} {said}"
