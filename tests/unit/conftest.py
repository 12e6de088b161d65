"""One detector for all tests of the detector and of inference: loading takes half a second."""

from __future__ import annotations

import pytest

from detector.detector import Detector


@pytest.fixture(scope="session")
def detector() -> Detector:
    return Detector.default()
