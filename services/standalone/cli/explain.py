"""The command `explain`, which explains the verdict on a message, or the detector's rules."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from standalone.cli.detection import Encoder, detector_with, print_errors
from standalone.terminal import FAILED, AsJson, print_json, say, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def explain(
    message: Annotated[str, typer.Argument(help="The person's message; omit with --rows.")] = "",
    previous_assistant: Annotated[str, typer.Option(help="The agent's answer before the message.")] = "",
    previous_user: Annotated[str, typer.Option(help="The person's request before the agent's answer.")] = "",
    rows: Annotated[
        Path | None,
        typer.Option(help="Explain every message in this file of rows instead.", exists=True, dir_okay=False),
    ] = None,
    errors: Annotated[int, typer.Option(help="Show only this many of the worst errors on labelled rows.", min=0)] = 0,
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
    if rows is not None:
        _explain_rows(rows, errors, sentence_encoder, as_json)
        return
    if not message.strip():
        raise typer.BadParameter("Give a message, or a file with --rows.")
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


def _explain_rows(path: Path, errors: int, encoder: str, as_json: bool) -> None:
    from detector.evaluation.errors import side_by_side, worst
    from detector.evaluation.rows import UnknownRows, neighbourhood, read_rows

    try:
        read = read_rows(path, needed=["message"])
        verdicts = detector_with(encoder).judge([neighbourhood(row) for row in read])
    except UnknownRows as error:
        say(f"{error}.", "red")
        raise typer.Exit(FAILED) from None
    except (KeyError, TypeError, AttributeError):
        say(f"{path} has a row with a message or history of the wrong type.", "red")
        raise typer.Exit(FAILED) from None
    rows = worst(read, verdicts, errors) if errors else [*map(side_by_side, read, verdicts)]
    if as_json:
        print_json(rows)
    else:
        print_errors(rows)
