"""One detector for all tests of inference: loading takes half a second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inference.detector import Detector
from inference.explain import explain
from inference.model import Verdict

Judge = Callable[[str, str, str], Verdict]


@pytest.fixture(scope="session")
def detector() -> Detector:
    return Detector.default()


@pytest.fixture(scope="session")
def rules() -> Detector:
    return Detector.rules_only()


@pytest.fixture(scope="session")
def said(detector: Detector) -> Judge:
    """said(message, request, answer): the verdict on the message."""
    return lambda message, request, answer: explain(message, request, answer, detector)
