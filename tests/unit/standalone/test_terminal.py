"""User text can neither control a terminal nor break the line that quotes it."""

from __future__ import annotations

import pytest

from standalone.terminal import harmless, say, sentence, show

HOSTILE = "Key('[/red]'): \x1b[2J\x07\x9b1m\x7fgone\r\nsecond line\t👩‍💻"
SHOWN = "Key('[/red]'): �[2J��1m�gone�\nsecond line\t👩‍💻"


def test_control_characters_are_replaced_and_the_rest_stays() -> None:
    assert harmless(HOSTILE).plain == SHOWN


def test_both_ways_out_take_nothing_for_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE, "red")
    show(HOSTILE)
    found = capsys.readouterr()
    assert found.out.replace(" ", "") == found.err.replace(" ", "")
    assert "[/red]" in found.out and not set("\x1b\x07\x9b\x7f\r") & set(found.out + found.err)


def test_a_sentence_ends_in_one_full_stop() -> None:
    assert sentence(ValueError("401: A token is needed.")) == "401: A token is needed."
    assert sentence(ValueError("no answer")) == "no answer."
