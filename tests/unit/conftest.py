"""One detector for all tests of the detector and of inference: loading takes half a second."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from detector.detector import Detector
from detector.explain import explain
from detector.model import Verdict

Judge = Callable[[str, str, str], Verdict]


@pytest.fixture(scope="session")
def detector() -> Detector:
    return Detector.default()


@pytest.fixture(scope="session")
def said(detector: Detector) -> Judge:
    """Return a function said(message, request, answer) that returns the verdict on the message."""
    return lambda message, request, answer: explain(message, request, answer, detector)
