"""The command `explain`, which explains the verdict on a message, or the detector's rules."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from standalone.cli.detection import Encoder, detector_with
from standalone.terminal import AsJson, print_json, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def explain(
    message: Annotated[str, typer.Argument(help="The person's message.")] = "",
    previous_assistant: Annotated[str, typer.Option(help="The agent's answer before the message.")] = "",
    previous_user: Annotated[str, typer.Option(help="The person's request before the agent's answer.")] = "",
    rules: Annotated[bool, typer.Option("--rules", help="Print the rules.")] = False,
    sentence_encoder: Encoder = "auto",
    as_json: AsJson = False,
) -> None:
    """Judge a message as feedback on the preceding answer, and explain the verdict.

    `agent-feedback explain "no, the other one" --previous-user "Show me the blue lamp" --previous-assistant "Here."`
    """
    from detector.explain import exchange, render, weighty_words

    if rules:
        _print_rules(as_json)
        return
    if not message.strip():
        raise typer.BadParameter("Give a message.")
    detector, item = detector_with(sentence_encoder), exchange(message, previous_user, previous_assistant)
    [verdict] = detector.judge([item])
    words = weighty_words(detector, item, verdict)
    if as_json:
        print_json(asdict(verdict) | {"emitted": verdict.emitted, "scores": dict(verdict.scores), "words": words})
    else:
        show(render(verdict, words))


def _print_rules(as_json: bool) -> None:
    from detector.explain import RULE_HEADS, rule_rows

    rows = _plain(rule_rows())
    if as_json:
        print_json({"rules": [dict(zip(RULE_HEADS, row, strict=True)) for row in rows]})
        return
    console = Console(soft_wrap=True)
    console.print(Text("  ".join(RULE_HEADS), "dim"))
    for row in rows:
        console.print(Text("  ".join(row)))


def _plain(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace("`", "") for cell in row] for row in rows]
