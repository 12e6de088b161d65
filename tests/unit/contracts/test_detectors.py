"""Versions of detectors and their order."""

from __future__ import annotations

import pytest

from contracts.detectors import DetectorVersion, precedence

IN_ORDER = [
    "2.00000000-words",
    "2.00000000",
    "2.00000000-words-gate",
    "2.00000000-gate",
    "3.00000000-words",
    "10.00000000-words",
]


def test_versions_are_ordered_by_release_then_mode() -> None:
    assert [precedence(text) for text in IN_ORDER] == sorted({precedence(text) for text in IN_ORDER})


def test_digests_have_no_order() -> None:
    assert precedence("3.00000000") == precedence("3.ffffffff")


@pytest.mark.parametrize(
    "text",
    ["1", "", "0.a1b2c3d4", "3.A1B2C3D4", "3.a1b2c3d4-Words", "3.a1b2c3d4\n", "3.a1b2c3d4-gate-words", "3.a1b2c3d"],
)
def test_another_format_has_the_lowest_key(text: str) -> None:
    assert precedence(text) == precedence(None) == (0, 0) < precedence(IN_ORDER[0])
    with pytest.raises(ValueError, match="not a detector version"):
        DetectorVersion.parse(text)


def test_a_version_is_parsed_as_it_is_written() -> None:
    assert [str(DetectorVersion.parse(text)) for text in IN_ORDER] == IN_ORDER
    assert DetectorVersion.parse("3.a1b2c3d4-words-gate") == (3, 2, "a1b2c3d4")
