"""Version of a detector: the date of its weights and a digest of all code and data that affect its verdicts."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from contracts.detectors import GATE, WORDS

HOME: Final = Path(__file__).parent
RELEASED: Final = "2026-11-29"
"""Date of weights, patterns and rules. Set it after each change that affects verdicts."""
_APART: Final = frozenset({"evaluation", "explain.py", "version.py"})
"""Files and folders that are not in the digest, because they do not affect verdicts."""


def version(parts: tuple[str, ...], *, encoder: str | None, home: Path = HOME) -> str:
    """Return the version of a detector in the format of `contracts.detectors`.

    Args:
        parts: Further strings to include in the digest, such as the name of the embedder.
        encoder: Name of the sentence encoder, if the detector has one.
        home: Folder with the code and weights.
    """
    return f"{RELEASED}.{_digest(digest_of_files(home), *parts, encoder or '')}{'' if encoder else WORDS}"


def version_with_gate(version: str, model: str, home: Path) -> str:
    """Return the version of a detector that may also consult the language model `model` (the LLM gate).

    Args:
        version: Version of the detector without the language model.
        model: Name of the language model.
        home: Folder with the code of the gate.
    """
    date, _, rest = version.partition(".")
    words = WORDS if rest.endswith(WORDS) else ""
    return f"{date}.{_digest(digest_of_files(home), version, model)}{words}{GATE}"


def _digest(files: bytes, *parts: str) -> str:
    told = hashlib.sha256(files)
    for part in parts:
        told.update(f"{len(part)}:{part}".encode())
    return told.hexdigest()[:8]


@cache
def digest_of_files(home: Path) -> bytes:
    """Return a SHA-256 digest of all code, patterns and weights in a folder, including their paths."""
    told = hashlib.sha256()
    for file in sorted(file for suffix in ("py", "json", "tsv", "onnx") for file in home.rglob(f"*.{suffix}")):
        place = file.relative_to(home)
        if place.parts[0] not in _APART:
            told.update(f"{place.as_posix()}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return told.digest()
