"""The command `explain`, which explains the verdict on a message."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from standalone.cli.detection import Encoder, detector_with
from standalone.terminal import AsJson, print_json, show


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
