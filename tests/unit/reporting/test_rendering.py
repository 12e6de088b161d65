"""Pages show reasons in words: people's tags, and descriptions of the machine's rules."""

from __future__ import annotations

from reporting.pages.rendering import reasons_shown


def test_a_rule_is_shown_as_what_it_found() -> None:
    machine = {"origin": "machine", "tags": ["rule.gives_up", "rule.same_request", "no.such_rule"]}
    assert reasons_shown(machine) == ["gives up", "asks the same again"]


def test_a_persons_tag_is_shown_as_it_is() -> None:
    assert reasons_shown({"origin": "user", "tags": ["too_slow", "en.never mind"]}) == ["too slow", "en.never mind"]
