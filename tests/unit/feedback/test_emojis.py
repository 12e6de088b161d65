"""Every spelling of an emoji is converted to the one in the table of rewards."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedback.emojis import DEFAULT_REWARDS, EMOJI_REWARDS, changed_rewards, normalise, reward_of

PAGE = Path(__file__).parents[3] / "docs" / "emojis.md"


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ("👍", "👍"),
        ("👍🏻", "👍"),
        ("👍🏽", "👍"),
        ("👍🏿", "👍"),
        (" 👍\n", "👍"),
        (":thumbsup:", "👍"),
        (":+1:", "👍"),
        ("+1", "👍"),
        ("thumbs_up", "👍"),
        (":THUMBSUP:", "👍"),
        (":+1::skin-tone-4:", "👍"),
        ("+1:skin-tone-2", "👍"),
        (":thumbs_up_medium_skin_tone:", "👍"),
        ("❤️", "❤"),
        ("❤", "❤"),
        ("❤︎", "❤"),
        (":heart:", "❤"),
        (":red_heart:", "❤"),
        ("😂", "😂"),
        (":joy:", "😂"),
        (":open_mouth:", "😮"),
        (":cry:", "😢"),
        ("-1", "👎"),
        (":thumbsdown:", "👎"),
        ("👎🏼", "👎"),
        ("🏽", ""),
        ("like", "👍"),
        ("LOVE", "❤"),
        (":laugh:", "😂"),
        (" wow ", "😮"),
        ("sad", "😢"),
        ("dislike", "👎"),
        ("♥️", "❤"),
        ("♥", "❤"),
        ("♡", "❤"),
        ("❣️", "❤"),
        (":hearts:", "❤"),
        ("<3", "❤"),
        ("💙", "💙"),
        ("🤦🏽‍♀️", "🤦"),
        ("🤦‍♂", "🤦"),
    ],
)
def test_a_written_form_leads_to_the_bare_emoji(written: str, bare: str) -> None:
    assert normalise(written) == bare


@pytest.mark.parametrize("written", ["", "no emoji", ":no_such_emoji:", "héllo", "::", "👍👍"])
def test_what_is_no_known_emoji_has_no_reward(written: str) -> None:
    assert reward_of(written) is None


@pytest.mark.parametrize(
    ("written", "reward"),
    [("👍", 0.6), ("❤️", 0.8), ("😂", 0.7), ("😮", 0.5), ("😢", -0.3), ("👎🏿", -0.6), ("🤔", None)],
)
def test_the_specifications_rewards(written: str, reward: float | None) -> None:
    assert reward_of(written) == reward


def test_the_table_can_be_extended() -> None:
    assert reward_of(":tada:", {"🎉": 0.9}) == 0.9


@pytest.mark.parametrize(
    ("written", "reward"),
    [
        *((":clap:", 0.7), (":tada:", 0.7), (":pray:", 0.6), (":fire:", 0.7), (":100:", 0.8), (":heart_eyes:", 0.8)),
        *((":rofl:", 0.7), ("♥️", 0.8), ("💜", 0.8), (":rage:", -0.8), (":x:", -0.6), (":eyes:", None)),
    ],
)
def test_rewards_that_a_person_would_expect(written: str, reward: float | None) -> None:
    assert reward_of(written) == reward


def test_every_emoji_of_the_table_stands_in_it_once_and_bare() -> None:
    emojis = [one for row in EMOJI_REWARDS for one in row.emojis.split()]
    assert len(emojis) == len(set(emojis))
    assert [normalise(one) for one in emojis] == emojis
    assert all(row.value is None or -1 <= row.value <= 1 for row in EMOJI_REWARDS)


def test_changes_are_written_in_any_form_and_may_take_an_emoji_out() -> None:
    rewards = changed_rewards(DEFAULT_REWARDS, {":+1:": 0.9, "🤔": -0.1, "♥️": None})
    assert (rewards["👍"], rewards["🤔"], "❤" in rewards, rewards["👎"]) == (0.9, -0.1, False, -0.6)


def test_the_page_shows_the_table() -> None:
    rows = [
        f"| {row.emojis} | {'none' if row.value is None else row.value} | {row.reason} |\n" for row in EMOJI_REWARDS
    ]
    assert "".join(rows) in PAGE.read_text("utf-8")
