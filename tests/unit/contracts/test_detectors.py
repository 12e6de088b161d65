"""The order of detectors' versions."""

from __future__ import annotations

import pytest

from contracts.detectors import precedence, version_of

IN_ORDER = [
    "2026-12-01.ffffffff-words",
    "2026-11-23.00000000",
    "2026-11-23.a1b2c3d4",
    "2026-12-01.00000000",
    "2027-01-01.00000000-words-gate",
    "2026-11-23.00000000-gate",
    "2026-11-23.a1b2c3d4-gate",
]


def test_versions_are_ordered_by_language_model_encoder_date_and_digest() -> None:
    assert [precedence(one) for one in IN_ORDER] == sorted({precedence(one) for one in IN_ORDER})


def test_what_is_no_version_of_ours_comes_first() -> None:
    others = [
        None,
        "1",
        "",
        "9999-99-99",
        "2026-11-23.A1B2C3D4",
        "2026-11-23.a1b2c3d4-Words",
        "2026-11-23.a1b2c3d4\n",
        "2026-11-23.a1b2c3d4-gate-words",
    ]
    assert {precedence(one) for one in others} == {""}
    assert precedence(IN_ORDER[0]) > ""


def test_a_version_is_found_again_by_its_sort_key() -> None:
    assert [version_of(precedence(one)) for one in (*IN_ORDER, "1")] == [*IN_ORDER, None]


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("2026-11-23.a1b2c3d4-words", "1:2026-11-23.a1b2c3d4-words"),
        ("2026-11-23.a1b2c3d4", "2:2026-11-23.a1b2c3d4"),
        ("2026-11-23.a1b2c3d4-words-gate", "3:2026-11-23.a1b2c3d4-words-gate"),
        ("2026-11-23.a1b2c3d4-gate", "4:2026-11-23.a1b2c3d4-gate"),
    ],
)
def test_the_sort_keys_stay_as_databases_hold_them(version: str, key: str) -> None:
    assert precedence(version) == key
