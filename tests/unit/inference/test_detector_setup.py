"""The detector that the settings name, and what an operator is told about a missing encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.encoders import choice
from inference.detector_setup import open_detector
from inference.settings import InferenceSettings
from servicekit.errors import StartError


@pytest.mark.parametrize(("encoder", "told"), [("auto", 1), ("none", 0)])
async def test_an_operator_hears_of_an_encoder_that_is_not_there_unless_none_is_wanted(
    encoder: str, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heard: list[str] = []
    detector = await open_detector(InferenceSettings(sentence_encoder=encoder), heard.append)
    assert len(heard) == told
    assert all("To add it: `agent-feedback encoder`." in line for line in heard)
    assert detector.judge([]) == []


async def test_the_hint_names_the_packages_first_if_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files alone do not help: the command that downloads them would succeed, and the hint would stay."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(choice, "find_spec", lambda name: None if name == "onnxruntime" else name)
    heard: list[str] = []
    await open_detector(InferenceSettings(sentence_encoder="auto"), heard.append)
    assert "To add it: pip install '.[encoder]' (in the checkout), then `agent-feedback encoder`." in heard[0]


async def test_an_encoder_that_cannot_be_had_stops_the_start() -> None:
    heard: list[str] = []
    with pytest.raises(StartError, match="no-such/model"):
        await open_detector(InferenceSettings(sentence_encoder="no-such/model"), heard.append)
    assert heard == []
