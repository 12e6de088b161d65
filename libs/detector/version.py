"""Version of a detector: the date of its weights, and a digest of all code and data that affect its verdicts."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from contracts.detectors import GATE, WORDS

HOME: Final = Path(__file__).parent
DATE: Final = Path("weights", "date.txt")
"""File with the date of weights and patterns, relative to the package. A copied file may have another file time."""
_APART: Final = frozenset({"evaluation", "explain.py", "spans.py", "version.py"})
"""Files and folders that are not in the digest, because they do not affect verdicts."""


def version(parts: tuple[str, ...], *, encoder: str | None, home: Path = HOME) -> str:
    """Return the version of a detector, in the format of `contracts.detectors`.

    `parts` names the detector's parts that are not in `home`. `encoder` is the name of its sentence encoder, or None.
    """
    date = (home / DATE).read_text("ascii").strip()
    return f"{date}.{_digest(digest_of_files(home), *parts, encoder or '')}{'' if encoder else WORDS}"


def version_with_gate(version: str, model: str, home: Path) -> str:
    """Return the version of a detector with an LLM gate that asks `model`. `home` is the folder of the gate's code."""
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
    """Return the SHA-256 digest of a package's code, patterns and weights, by relative path and content."""
    told = hashlib.sha256()
    for file in sorted((*home.rglob("*.py"), *home.rglob("*.json"))):
        place = file.relative_to(home)
        if place.parts[0] not in _APART:
            told.update(f"{place.as_posix()}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return told.digest()
