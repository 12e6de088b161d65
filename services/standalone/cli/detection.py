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


def print_errors(found: list[dict[str, Any]]) -> None:
    for one in found:
        label = f"labelled {one['label']}, " if one["label"] else ""
        announced = "announced" if one["announced"] else "not announced"
        show(
            f"{label}called {one['said']} {one['confidence']:.2f}, {announced}, by {one['decided_by']}:"
            f" {', '.join(one['rules']) or 'nothing'}\n"
            f"  answer   {one['previous_assistant']}\n  message  {one['message']}\n"
        )
