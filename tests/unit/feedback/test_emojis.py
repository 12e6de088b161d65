"""Every spelling of an emoji is converted to the one in the table of rewards."""

from __future__ import annotations

import pytest

from feedback.reward import DEFAULT_REWARDS, EMOJI_REWARDS, changed_rewards, normalise
from tests.support.linear import doubles


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ("👍", "👍"),
        ("👍🏻", "👍"),
        (" 👍\n", "👍"),
        (":thumbsup:", "👍"),
        ("+1", "👍"),
        (":THUMBSUP:", "👍"),
        (":+1::skin-tone-4:", "👍"),
        (":thumbs_up_medium_skin_tone:", "👍"),
        ("❤️", "❤"),
        ("❤︎", "❤"),
        (":heart:", "❤"),
        (":red_heart:", "❤"),
        ("😂", "😂"),
        ("🏽", ""),
        ("sorry", "😢"),
        ("Thumbs Up", "👍"),
        (":laugh:", "😄"),
        (" wow ", "😮"),
        ("dislike", "👎"),
        ("♥️", "❤"),
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
    assert DEFAULT_REWARDS.get(normalise(written)) is None


@pytest.mark.parametrize(
    ("written", "reward"),
    [("👍", 0.6), ("❤️", 0.8), ("😂", 0.7), ("😮", 0.5), ("😢", -0.3), ("👎🏿", -0.6), ("🤔", None)],
)
def test_the_specifications_rewards(written: str, reward: float | None) -> None:
    assert DEFAULT_REWARDS.get(normalise(written)) == reward


def test_every_emoji_of_the_table_stands_in_it_once_and_bare() -> None:
    emojis = [one for row in EMOJI_REWARDS for one in row.emojis.split()]
    assert len(emojis) == len(set(emojis))
    assert [normalise(one) for one in emojis] == emojis
    assert all(row.value is None or -1 <= row.value <= 1 for row in EMOJI_REWARDS)


def test_changes_are_written_in_any_form_and_may_take_an_emoji_out() -> None:
    rewards = changed_rewards(DEFAULT_REWARDS, {":+1:": 0.9, "🤔": -0.1, "♥️": None})
    assert (rewards["👍"], rewards["🤔"], "❤" in rewards, rewards["👎"]) == (0.9, -0.1, False, -0.6)


NAMED = {
    "slack": {
        "👍": "+1 thumbsup thumbsup_all +1::skin-tone-4 thumbsup::skin-tone-2", "👎": "-1 thumbsdown -1::skin-tone-6",
        "❤": "heart", "🧡": "orange_heart", "💛": "yellow_heart", "💚": "green_heart", "💙": "blue_heart",
        "💜": "purple_heart", "🤎": "brown_heart", "🖤": "black_heart", "🤍": "white_heart", "🩷": "pink_heart",
        "🩵": "light_blue_heart", "🩶": "grey_heart", "💕": "two_hearts", "💖": "sparkling_heart", "💗": "heartpulse",
        "💓": "heartbeat", "💞": "revolving_hearts", "💘": "cupid", "💝": "gift_heart", "😍": "heart_eyes",
        "🥰": "smiling_face_with_3_hearts", "🤩": "star-struck grinning_face_with_star_eyes", "💯": "100", "😂": "joy",
        "🤣": "rolling_on_the_floor_laughing", "😆": "laughing satisfied", "👏": "clap clap::skin-tone-3",
        "🙌": "raised_hands", "🎉": "tada", "🥳": "partying_face", "🔥": "fire", "🚀": "rocket", "🙏": "pray",
        "👌": "ok_hand", "😀": "grinning", "😃": "smiley", "😄": "smile", "😁": "grin", "😊": "blush",
        "😮": "open_mouth", "😲": "astonished", "🤯": "exploding_head shocked_face_with_exploding_head", "😢": "cry",
        "😞": "disappointed", "☹": "white_frowning_face", "🙁": "slightly_frowning_face", "😕": "confused",
        "😒": "unamused", "🙄": "face_with_rolling_eyes", "🥱": "yawning_face",
        "🤦": "face_palm man-facepalming woman-facepalming", "❌": "x", "😠": "angry", "😡": "rage",
        "🤬": "face_with_symbols_on_mouth serious_face_with_symbols_covering_mouth", "💩": "hankey poop shit",
        "🤮": "face_vomiting face_with_open_mouth_vomiting", "🖕": "middle_finger", "🏆": "trophy", "🍾": "champagne",
    },
    "discord": {
        "👍": "thumbsup thumbup +1 thumbsup_tone3 thumbup_tone1", "👎": "thumbsdown thumbdown -1 thumbsdown_tone5",
        "🤦": "facepalm person_facepalming man_facepalming woman_facepalming_tone2", "😂": "joy", "💯": "100",
        "🙄": "rolling_eyes face_with_rolling_eyes", "🤬": "face_with_symbols_over_mouth", "☹": "frowning2",
        "🥰": "smiling_face_with_3_hearts", "🙁": "slight_frown", "🙏": "pray folded_hands", "😡": "rage pouting_face",
        "😮": "open_mouth", "💩": "poop poo", "👏": "clap clap_medium_light_skin_tone",
    },
    "teams": {
        "👍": "like 1f44d_thumbsup", "❤": "heart 2764_heart", "😮": "surprised", "😢": "sad", "😠": "angry",
        "🎉": "1f389_partypopper", "👏": "1f44f_clappinghands-tone2",
    },
    "messenger": {"👍": "like", "❤": "love", "😂": "haha", "😮": "wow", "😢": "sad", "👎": "dislike", "🥰": "care"},
}  # fmt: skip
"""Names that platforms' clients and APIs send for emojis in the table."""


@pytest.mark.parametrize("platform", NAMED)
def test_every_name_of_a_platform_leads_to_its_emoji(platform: str) -> None:
    names = [(name, emoji) for emoji, spelled in NAMED[platform].items() for name in spelled.split()]
    assert [(name, normalise(name)) for name, _ in names] == names
    assert [normalise(f":{name}:") for name, _ in names] == [emoji for _, emoji in names]


@pytest.mark.parametrize(
    "piece", ["_tone1", "_medium_dark_skin_tone", "::skin-tone-2", "1f44d-", "\u200d♀", "👍🏽", ":", " "]
)
def test_an_endless_name_takes_time_in_proportion_to_its_length(piece: str) -> None:
    doubles(lambda length: normalise.__wrapped__(piece * (length // len(piece)) + "x"))
