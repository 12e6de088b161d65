"""What settings make of what the environment holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedback.settings import FeedbackSettings
from servicekit.failures import StartError
from servicekit.settings import read_settings


@pytest.mark.parametrize("from_file", [False, True], ids=["variable", "file"])
@pytest.mark.parametrize("text", ["hush", " ", "{", "[1]"])
def test_a_value_that_is_not_the_json_it_should_be_is_one_sentence_without_it(
    text: str, from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rewards"
    file.write_text(text + ("." if not text.strip() else ""))
    monkeypatch.setenv("FEEDBACK_EMOJI_REWARDS" + "_FILE" * from_file, str(file) if from_file else text)
    with pytest.raises(StartError) as refused:
        read_settings(FeedbackSettings)
    assert str(refused.value).startswith("The settings FEEDBACK_* are not sound: ")
    assert "emoji_rewards" in str(refused.value)
    assert "hush" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_what_is_given_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDBACK_BROKER", "theirs:9092")
    monkeypatch.setenv("FEEDBACK_TURN_DAYS", "")
    assert read_settings(FeedbackSettings, broker="ours:9092").broker == "ours:9092"
    assert read_settings(FeedbackSettings).turn_days == 730


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
    with pytest.raises(StartError, match="emoji_rewards_of"):
        read_settings(FeedbackSettings)
