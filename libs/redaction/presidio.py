"""Adapter for Microsoft Presidio, an optional recogniser that needs `presidio-analyzer` and a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module

from redaction.recognisers import MaskedSpan, Recogniser

THRESHOLD = 0.5
"""Minimum score of Presidio's results."""


class PresidioUnavailable(Exception):
    """Raised if Presidio or its language model cannot be loaded."""


def open_presidio(language: str, entities: Sequence[str]) -> Recogniser:
    """Return a recogniser for Presidio's `entities`, such as PERSON, in texts of `language`.

    The kind of a mask is the entity's name in lower case. Raises PresidioUnavailable if Presidio cannot be loaded.
    """
    try:
        engine = import_module("presidio_analyzer").AnalyzerEngine(supported_languages=[language])
    # Presidio downloads a missing language model and ends the process with SystemExit if it cannot.
    except (ImportError, OSError, ValueError, SystemExit) as error:
        raise PresidioUnavailable(
            f"Presidio for {language!r} cannot be loaded ({type(error).__name__}): install presidio-analyzer and its "
            "language model, or leave the setting empty."
        ) from None

    def find(text: str) -> Iterator[MaskedSpan]:
        results = engine.analyze(text=text, language=language, entities=list(entities), score_threshold=THRESHOLD)
        for result in results:
            yield MaskedSpan(result.start, result.end, str(result.entity_type).lower())

    return find
