"""Select the sentence encoder of the detector and of issues."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec

from contracts.extras import install_command
from detector.encoders import EncoderChoice
from detector.encoders.minilm import MiniLm
from detector.encoders.minilm_files import ModelMissing, fetched, present


def sentence_encoder(choice: EncoderChoice, say: Callable[[str], None]) -> MiniLm | None:
    """Return the configured sentence encoder, or None if there is none.

    Args:
        say: Function that reports progress.

    Raises:
        ModelMissing: A required package or the model is missing.
    """
    match choice:
        case "none":
            return None
        case "auto":
            files = present()
            with suppress(ImportError):
                return MiniLm(files) if files else None
            return None
        case "minilm":
            try:
                return MiniLm(fetched(say))
            except ImportError as error:
                install = install_command("encoder")
                raise ModelMissing(f"The sentence encoder needs the package {error.name}: {install}.") from error


def how_to_add_encoder() -> str:
    """Return the next step to get the sentence encoder: its packages, or else its files."""
    if any(find_spec(package) is None for package in ("jgo", "onnxruntime", "tokenizers")):
        return f"{install_command('encoder')}, then `agent-feedback encoder`"
    return "`agent-feedback encoder`"
