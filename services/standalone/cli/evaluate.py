"""The command `evaluate`, which measures the detector on files of rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.cli.detection import Encoder, detector_with, print_errors
from standalone.terminal import FAILED, AsJson, harmless, print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detector.evaluation.comparison import Difference
    from detector.evaluation.messages import By
    from detector.evaluation.rows import Judge


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files of rows, one JSON object per line. The fields determine the kind.", exists=True, dir_okay=False
        ),
    ],
    by: Annotated[str, typer.Option(help="Also score the rows by length, source or language; comma-separated.")] = "",
    errors: Annotated[
        int, typer.Option(help="Show this many of the worst errors, with expected and given label.", min=0)
    ] = 0,
    table: Annotated[bool, typer.Option("--table", help="Print Markdown tables of all files.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the outcome of every labelled message, without texts, to this file.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Compare with the outcomes in this file of an earlier --save.", exists=True, dir_okay=False),
    ] = None,
    gate: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Ask the language model at this OpenAI-compatible endpoint about messages that the detector leaves "
            "open, which sends their texts to it. The key is read from INFERENCE_GATE_KEY.",
        ),
    ] = "",
    gate_model: Annotated[str, typer.Option(help="Name of the language model of --gate.")] = "",
    sentence_encoder: Encoder = "auto",
    as_json: AsJson = False,
) -> None:
    """Measure the detector on rows. The fields of a file's first row determine the kind of its rows.

    Every proportion has a 95 % confidence interval. To compare two detectors, measure one with `--save FILE` and the
    other with `--against FILE` on the same rows. A difference is marked as noise if its interval contains 0.

    - labelled messages: `message`, `label` (rejected, accepted, neutral), `gate` (not_ok, ok, neutral), `source`

    - phrases: `message`, `label`, `announced` (not_ok, ok, null)

    - unlabelled messages: `message`, `history`, `source`

    - targets, for the locator: `message`, `history`, `target_indices` (into the history), `assistant_turns_back`

    `history` is a list of `{"role": "user" or "assistant", "text": ...}`; messages and phrases may have `previous_user`
    and `previous_assistant` instead. `source` is any name you choose. Example of a line:

    `{"previous_assistant": "At nine.", "message": "No.", "label": "rejected", "gate": "not_ok", "source": "mine"}`
    """
    from detector.evaluation import comparison
    from detector.evaluation.evaluate import evaluate as scores_on
    from detector.evaluation.rows import UnknownRows
    from detector.evaluation.tables import markdown

    groups = _groups(by)
    detector = _judge(sentence_encoder, gate, gate_model)
    try:
        before = comparison.read(against) if against is not None else {}
        reports = {file.stem: scores_on(file, detector, groups, errors, keep_outcomes=True) for file in files}
        measured = {name: report.pop("outcomes") for name, report in reports.items() if "outcomes" in report}
        compared = comparison.by_file(before, measured) if against is not None else {}
    except UnknownRows as error:
        say(f"{error}.", "red")
        raise typer.Exit(FAILED) from None
    first = next(iter(reports.values()))
    if save is not None:
        comparison.write(save, measured)
        say(f"Saved the outcomes of {sum(map(len, measured.values())):,} messages in {save}.")
    for name, differences in compared.items():
        reports[name]["differences"] = [
            difference._asdict() | {"noise": difference.is_noise} for difference in differences
        ]
    if table:
        typer.echo(markdown(reports))
    elif as_json:
        print_json(first if len(files) == 1 else reports)
    else:
        for name, report in reports.items():
            if len(files) > 1:
                say(name, "bold")
            _print_scores(Console(), report)
            _print_differences(Console(), compared.get(name, []))
            print_errors(report.get("errors", []))


def _judge(encoder: str, gate: str, model: str) -> Judge:
    """Return the detector, with the language model at `gate` behind it if there is one."""
    detector = detector_with(encoder)
    if not gate:
        return detector
    if not model:
        raise typer.BadParameter("--gate needs --gate-model.")
    from inference.llm_gate.measured import GatedDetector
    from servicekit.clock import SystemClock

    return GatedDetector(detector, SystemClock(), gate, model, os.environ.get("INFERENCE_GATE_KEY", ""))


def _groups(names: str) -> list[By]:
    from detector.evaluation.messages import GROUPS

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(GROUPS)):
        raise typer.BadParameter(f"--by takes {', '.join(GROUPS)}, not {', '.join(unknown)}.")
    return [group for group in GROUPS if group in wanted]


def _print_scores(console: Console, report: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    _add_rows(table, report, 0)
    console.print(table)


def _print_differences(console: Console, differences: Sequence[Difference]) -> None:
    if not differences:
        return
    table = Table("difference", "before", "after", "change", "95 % interval", "", box=None, pad_edge=False)
    for difference in differences:
        shares = ["–" if share is None else f"{share:.3f}" for share in (difference.before, difference.after)]
        change = (
            f"{difference.after - difference.before:+.3f}"
            if difference.before is not None and difference.after is not None
            else "–"
        )
        noise = "noise" if difference.is_noise else "better" if difference.low > 0 else "worse"
        table.add_row(difference.figure, *shares, change, f"{difference.low:+.3f} to {difference.high:+.3f}", noise)
    console.print(table)


def _add_rows(table: Table, report: dict[str, Any], depth: int) -> None:
    for name, value in report.items():
        if name.endswith(("_low", "_high")):
            continue
        label = "  " * depth + str(name).replace("_", " ")
        if isinstance(value, dict):
            table.add_row(harmless(label, "bold"), "")
            _add_rows(table, value, depth + 1)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            table.add_row(harmless(label), _with_interval(report, name))


def _with_interval(report: dict[str, Any], name: str) -> str:
    value = report[name]
    if f"{name}_low" in report:
        return f"{value:.3f} ({report[f'{name}_low']:.3f}–{report[f'{name}_high']:.3f})"
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
