"""The command `import`, which imports judgements from another tool's export file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standalone.data_import.formats import FORMATS, Fact, TimeUnit
from standalone.state import DEFAULT_STATE
from standalone.terminal import (
    FAILED,
    AsJson,
    Running,
    State,
    pairs_of,
    print_json,
    progress_bar,
    run,
    say,
    with_options,
)

if TYPE_CHECKING:
    from standalone.data_import.mapping import ImportMapping
    from standalone.operations.data_import import ImportCounts


@dataclass(frozen=True)
class _Options:
    file: Annotated[Path, typer.Argument(help="The file: .csv, .tsv, .jsonl, .ndjson, or .json with one array.")]
    tenant: Annotated[str, typer.Option(help="The tenant that gets the feedback.")]
    project: Annotated[str, typer.Option(help="The project that gets the feedback.")]
    source: Annotated[
        str, typer.Option("--format", help=f"The tool that wrote the file: {', '.join(FORMATS)} (columns by --column).")
    ] = "mapped"
    column: Annotated[
        list[str] | None,
        typer.Option(help=f"FACT=COLUMN, repeatable. Facts: {', '.join(Fact)}.", metavar="FACT=COLUMN"),
    ] = None
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            help="VALUE=ok, not_ok, neutral or skip, repeatable. VALUE is a text, a number, or a range such as 1..2.",
            metavar="VALUE=VERDICT",
        ),
    ] = None
    name: Annotated[str | None, typer.Option(help="The name of the score to import, such as user-feedback.")] = None
    agent: Annotated[str | None, typer.Option(help="The agent of rows without an agent.")] = None
    person: Annotated[str | None, typer.Option(help="The person of rows without a person.")] = None
    time_zone: Annotated[
        str | None, typer.Option(help="The zone of times without an offset, such as Europe/Berlin.")
    ] = None
    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="The unit of times that are numbers: seconds or milliseconds since 1970.")
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and count the rows without importing them.")] = False
    broker: Running = None
    state: State = DEFAULT_STATE
    as_json: AsJson = False


@with_options(_Options)
def import_feedback(options: _Options) -> None:
    """Import people's judgements from another tool's file, at their original times.

    `agent-feedback import scores.csv --tenant demo --project support --format langfuse --name user-feedback --verdict
    1=ok --verdict 0=not_ok`

    `agent-feedback import ratings.csv --tenant demo --project support --agent helper --column conversation=chat
    --column message=answer --column person=user --column time=rated_at --column verdict=stars --verdict 4..5=ok
    --verdict 1..2=not_ok --verdict 3=neutral`

    Each row becomes an explicit judgement of one answer, without the texts of the conversation. A row whose value has
    no --verdict is rejected, because verdicts are never guessed; --dry-run prints all values with their verdicts.
    Scores given by models are skipped. Annotations by the other tool's own users become reviews.

    It is safe to repeat an import, even one that was killed: rows that were already imported change nothing. The exit
    code is 1 if any row was rejected or if two rows judge one answer for one person; all other rows are imported.
    """
    from servicekit.clock import SystemClock
    from standalone.operations.data_import import import_file, import_log

    file, mapping = options.file, _mapping_of(options)

    async def work() -> ImportCounts:
        with progress_bar("Importing", file.stat().st_size, options.as_json) as advance:
            async with import_log(options.broker, options.state, dry_run=options.dry_run) as log:
                return await import_file(file, mapping, log, SystemClock(), advance=advance)

    counts = run(work())
    if options.as_json:
        rejected = [{"line": line, "reason": reason} for line, reason in counts.rejected]
        print_json({"dry_run": options.dry_run, **asdict(counts), "rejected": rejected})
    else:
        _print(counts, options.dry_run)
    if counts.rejections or counts.repeated:
        raise typer.Exit(FAILED)


def _mapping_of(options: _Options) -> ImportMapping:
    """Return the mapping that the options describe.

    Raises:
        typer.BadParameter: The file is missing or empty, or an option is invalid.
    """
    from standalone.data_import.mapping import ImportMapping
    from standalone.data_import.verdicts import MappingInvalid, verdicts_of

    file, source = options.file, options.source
    if not file.is_file():
        raise typer.BadParameter(f"There is no file {file}.")
    if not file.stat().st_size:
        raise typer.BadParameter(f"{file} is empty: there is nothing to import.")
    constants = ((Fact.agent, options.agent), (Fact.person, options.person))
    try:
        if source not in FORMATS:
            raise MappingInvalid(f"There is no format {source}: it is one of {', '.join(FORMATS)}.")
        verdicts = pairs_of(options.verdict or (), "--verdict", last=True) or FORMATS[source].verdicts.items()
        mapping = ImportMapping(
            tenant=options.tenant,
            project=options.project,
            format=FORMATS[source],
            columns=_columns(options.column or ()),
            constants={fact: value for fact, value in constants if value},
            verdicts=verdicts_of(verdicts),
            name=options.name,
            zone=options.time_zone,
            time_unit=options.time_unit,
        )
        _check_columns(mapping, file)
    except MappingInvalid as error:
        raise typer.BadParameter(str(error)) from None
    return mapping


def _columns(options: Sequence[str]) -> dict[Fact, str]:
    """Return the columns that the options name, by the kind of their values.

    Raises:
        MappingInvalid: An option is malformed, or there is no such kind.
    """
    from standalone.data_import.verdicts import MappingInvalid

    columns = dict(pairs_of(options, "--column"))
    if unknown := sorted(set(columns) - set(Fact)):
        raise MappingInvalid(f"--column has no fact {unknown[0]}: facts are {', '.join(Fact)}.")
    return {Fact(fact): column for fact, column in columns.items()}


def _check_columns(mapping: ImportMapping, file: Path) -> None:
    """Raise MappingInvalid if a CSV file lacks a column that the user named."""
    from standalone.data_import.rows import header_of
    from standalone.data_import.verdicts import MappingInvalid

    header = header_of(file)
    missing = [] if header is None else [column for column in mapping.columns.values() if column not in header]
    if missing:
        raise MappingInvalid(f"{file.name} has no column {missing[0]}; its columns are {', '.join(header or ())}.")


def _print(counts: ImportCounts, dry_run: bool) -> None:
    from standalone.operations.data_import import MISSING

    sent = sum(counts.sent.values())
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(counts.sent.items()))
    done = "Would import" if dry_run else "Imported"
    say(f"{done} {sent:,} of {counts.rows:,} rows{f': {verdicts}' if verdicts else ''}.")
    missing = counts.values.get(MISSING, {})
    if dry_run or missing:
        _print_values(counts.values)
    if missing:
        options = " ".join(shlex.join(["--verdict", f"{value}=VERDICT"]) for value in missing)
        say(f"Add a verdict (ok, not_ok, neutral or skip) for each value without one: {options}", "red")
    if counts.repeated:
        say(
            f"{counts.repeated:,} rows judge an answer that another row judges for the same person: only the newest "
            "judgement counts. If answers or people differ, map --column turn=COLUMN or --column person=COLUMN.",
            "red",
        )
    for reason, count in sorted(counts.skipped.items()):
        say(f"Left out {count:,}: {reason}.")
    if counts.rejections:
        say(f"Rejected {counts.rejections:,}:", "red")
        for line, reason in counts.rejected:
            say(f"  line {line}: {reason}.")
        if more := counts.rejections - len(counts.rejected):
            say(f"  and {more:,} more.")


def _print_values(values: Mapping[str, Mapping[str, int]]) -> None:
    """Print a line for each value with its verdict and its number of rows."""
    for verdict, counts in sorted(values.items()):
        for value, count in sorted(counts.items()):
            say(f"  {value} -> {verdict}: {count:,} {'row' if count == 1 else 'rows'}")
