"""Every way of writing an emoji leads to the one that the table of rewards knows."""

from __future__ import annotations

import pytest

from feedback.emojis import normalise, reward_of


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
    ],
)
def test_a_written_form_leads_to_the_bare_emoji(written, bare):
    assert normalise(written) == bare


@pytest.mark.parametrize("written", ["", "no emoji", ":no_such_emoji:", "héllo", "::", "👍👍"])
def test_what_is_no_known_emoji_has_no_reward(written):
    assert reward_of(written) is None


@pytest.mark.parametrize(
    ("written", "reward"),
    [("👍", 0.6), ("❤️", 0.8), ("😂", 0.7), ("😮", 0.5), ("😢", -0.3), ("👎🏿", -0.6), ("🎉", None)],
)
def test_the_specifications_rewards(written, reward):
    assert reward_of(written) == reward


def test_the_table_can_be_extended():
    assert reward_of(":tada:", {"🎉": 0.9}) == 0.9
