"""Rejected settings of the LLM gate; no error shows its key."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from inference.settings import InferenceSettings

KEY = "sk-not-to-be-seen"
ON: dict[str, Any] = {"gate_url": "http://127.0.0.1:8000/v1", "gate_model": "m", "gate_key": KEY}


def test_off_unless_an_address_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERENCE_GATE_URL", "")
    assert not InferenceSettings().gate_url
    assert InferenceSettings(**ON).gate_url


@pytest.mark.parametrize(
    "fault",
    [
        {"gate_model": ""},
        {"gate_url": "ftp://127.0.0.1/v1"},
        {"gate_url": f"http://user:{KEY}@127.0.0.1/v1"},
        {"gate_url": f"http://127.0.0.1/v1?key={KEY}"},
        {"gate_url": "http://127.0.0.1/v1\n"},
        {"gate_key": f"{KEY}\n"},
        {"gate_key": f"{KEY}é"},
        {"gate_seconds": 0},
        {"gate_seconds": 4, "gate_batch_seconds": 4},
        {"gate_at_once": 0},
    ],
)
def test_what_cannot_work_is_refused_at_start_without_showing_the_key(fault: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        InferenceSettings(**(ON | fault))
    assert KEY not in str(caught.value)
    assert KEY not in repr(InferenceSettings(**ON))
