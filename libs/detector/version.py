"""Version of the detector: its release, its mode, and a digest of all code, data and models that affect its verdicts.

The order of two versions is that of their releases and modes. Digests are only compared for equality.
"""

from __future__ import annotations

import hashlib
from typing import Final

from contracts.detectors import MODES, DetectorVersion

RELEASE: Final = 4
"""Number of the release. Raise it with each change of the detector or the LLM gate that affects verdicts."""
DIGEST: Final = "48fb29c1b80cda40"
"""Digest of the code and data of this release (`tests/unit/detector/test_version.py` computes it)."""
_WITH_GATE: Final = len(MODES) // 2


def version(embedder: str, encoder: str | None) -> DetectorVersion:
    """Return the version of a detector.

    Args:
        embedder: Name of the embedder.
        encoder: Name of the sentence encoder, if the detector has one.
    """
    return DetectorVersion(RELEASE, 1 if encoder else 0, _digest(DIGEST, embedder, encoder or ""))


def version_with_gate(version: DetectorVersion, model: str) -> DetectorVersion:
    """Return the version of a detector that may also consult the language model `model` (the LLM gate)."""
    return version._replace(mode=version.mode + _WITH_GATE, digest=_digest(version.digest, model))


def _digest(*parts: str) -> str:
    return hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()[:8]
