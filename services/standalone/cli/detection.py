"""Shared code of the detector commands: the encoder option and the output of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from standalone.terminal import say, show

if TYPE_CHECKING:
    from detector.detector import Detector

Encoder = Annotated[
    str, typer.Option(help="Request encoder: none (by words), minilm, auto, or a sentence-transformers model.")
]


def detector_with(encoder: str) -> Detector:
    from detector.detector import Detector
    from detector.encoders.choice import sentence_encoder
    from detector.encoders.minilm_files import ModelMissing

    try:
        return Detector.default(sentence_encoder(encoder, say))
    except ModelMissing as error:
        raise typer.BadParameter(str(error)) from None


def print_errors(errors: list[dict[str, Any]]) -> None:
    for error in errors:
        label = f"labelled {error['label']}, " if error["label"] else ""
        announced = "announced" if error["announced"] else "not announced"
        show(
            f"{label}called {error['said']} {error['confidence']:.2f}, {announced}, by {error['decided_by']}:"
            f" {', '.join(error['rules']) or 'nothing'}\n"
            f"  answer   {error['previous_assistant']}\n  message  {error['message']}\n"
        )
