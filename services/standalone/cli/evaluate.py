"""The command `evaluate`, which measures the detector on files of rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from standalone.cli.detector import Encoder, detector_with, print_errors
from standalone.terminal import FAILED, AsJson, harmless, print_json, say, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detector.encoders import EncoderChoice
    from detector.evaluation.messages import By
    from detector.evaluation.rows import Judge


@dataclass(frozen=True)
class _Options:
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files of rows, one JSON object per line. The fields determine the kind.", exists=True, dir_okay=False
        ),
    ]
    by: Annotated[str, typer.Option(help="Also score the rows by length, source or language; comma-separated.")] = ""
    errors: Annotated[
        int, typer.Option(help="Show this many of the worst errors, with expected and given label.", min=0)
    ] = 0
    table: Annotated[bool, typer.Option("--table", help="Print Markdown tables of all files.")] = False
    save: Annotated[
        Path | None, typer.Option(help="Write the outcome of every labelled message, without texts, to this file.")
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(help="Compare with the outcomes in this file of an earlier --save.", exists=True, dir_okay=False),
    ] = None
    gate: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Ask the language model at this OpenAI-compatible endpoint about messages that the detector leaves "
            "open, which sends their texts to it. The key is read from INFERENCE_GATE_KEY.",
        ),
    ] = ""
    gate_model: Annotated[str, typer.Option(help="Name of the language model of --gate.")] = ""
    sentence_encoder: Encoder = "auto"
    as_json: AsJson = False


@with_options(_Options)
def evaluate(options: _Options) -> None:
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

    detector, reports = _judge(options.sentence_encoder, options.gate, options.gate_model), {}
    groups, measured = _groups(options.by), {}
    try:
        before = None if options.against is None else comparison.read(options.against)
        for file in options.files:
            report = reports[file.stem] = scores_on(file, detector, groups, options.errors, keep_outcomes=True)
            if "outcomes" in report:
                measured[file.stem] = report.pop("outcomes")
        for name, differences in ({} if before is None else comparison.by_file(before, measured)).items():
            reports[name]["differences"] = [change._asdict() | {"noise": change.is_noise} for change in differences]
    except UnknownRows as error:
        say(f"{error}.", "red")
        raise typer.Exit(FAILED) from None
    if options.save is not None:
        comparison.write(options.save, measured)
        say(f"Saved the outcomes of {sum(map(len, measured.values())):,} messages in {options.save}.")
    if options.table:
        typer.echo(markdown(reports))
    elif options.as_json:
        print_json(next(iter(reports.values())) if len(options.files) == 1 else reports)
    else:
        for name, report in reports.items():
            if len(reports) > 1:
                say(name, "bold")
            _print_report(Console(), report)


def _print_report(console: Console, report: dict[str, Any]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    _add_rows(table, report, 0)
    console.print(table)
    _print_differences(console, report.get("differences", []))
    print_errors(report.get("errors", []))


def _judge(encoder: EncoderChoice, gate: str, model: str) -> Judge:
    """Return the detector, with the language model at `gate` behind it if there is one."""
    detector = detector_with(encoder)
    if not gate:
        return detector
    if not model:
        raise typer.BadParameter("--gate needs --gate-model.")
    from inference.llm_gate.measured import GatedDetector
    from servicekit.clock import SystemClock
    from servicekit.logging import configure_logging

    configure_logging(quiet=True)
    return GatedDetector(detector, SystemClock(), gate, model, os.environ.get("INFERENCE_GATE_KEY", ""))


def _groups(names: str) -> list[By]:
    from detector.evaluation.messages import GROUPS

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(GROUPS)):
        raise typer.BadParameter(f"--by takes {', '.join(GROUPS)}, not {', '.join(unknown)}.")
    return [group for group in GROUPS if group in wanted]


def _print_differences(console: Console, differences: Sequence[dict[str, Any]]) -> None:
    if not differences:
        return
    table = Table("difference", "before", "after", "change", "95 % interval", "", box=None, pad_edge=False)
    for change in differences:
        before, after, low, high = (change[name] for name in ("before", "after", "low", "high"))
        shares = ["–" if share is None else f"{share:.3f}" for share in (before, after)]
        shares.append("–" if before is None or after is None else f"{after - before:+.3f}")
        noise = "noise" if change["noise"] else "better" if low > 0 else "worse"
        table.add_row(change["figure"], *shares, f"{low:+.3f} to {high:+.3f}", noise)
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
