"""The simulation of alert rules finds rules that raise false alarms."""

from __future__ import annotations

import pytest

from proofs.alarms import DROPPED, Rhythm, alarms, hours_to_report, main
from reporting.alerts import sequential


def test_uneventful_months_raise_no_alarm_and_a_drop_is_reported_in_two_days() -> None:
    assert alarms(DROPPED, Rhythm(100), 60, seed=1) == 0
    assert sum(hours_to_report(DROPPED, Rhythm(200), 0.1, 2, seed) is not None for seed in range(10)) >= 8


def test_an_interval_for_a_single_look_raises_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "boundary", lambda information: 1.645 * information**0.5)
    assert alarms(DROPPED, Rhythm(100), 60, seed=1) >= 4


def test_a_missed_limit_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sequential, "boundary", lambda information: 1e9)
    assert main(agents=1, drops=2, days=1) == 1
    assert "every day: 0.0% of 2 reported within two days" in capsys.readouterr().out
