"""The command `export`, which writes training examples to a file, with a manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.progress import DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from standalone.operations.remote import address_of, explain
from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, State, print_json, say

if TYPE_CHECKING:
    import httpx


class Format(StrEnum):
    """Export formats."""

    kto = "kto"
    dpo = "dpo"
    sft = "sft"
    events = "events"
    detector = "detector"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("export")(export)


def export(
    wanted: Annotated[Format, typer.Argument(help="kto, dpo, sft, events or detector.", metavar="FORMAT")],
    out: Annotated[Path, typer.Option(help="The .jsonl file to write; OUT.manifest.json is written next to it.")],
    tenant: Annotated[str, typer.Option(help="The tenant.")],
    project: Annotated[str, typer.Option(help="The project.")],
    url: Annotated[
        str | None, typer.Option(help="The reporting service's URL; default: that of the running `up`.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="AGENT_FEEDBACK_TOKEN", help="A token with the scope export.")
    ] = None,
    agent_id: Annotated[str | None, typer.Option(help="Only answers of this agent.")] = None,
    agent_version: Annotated[str | None, typer.Option(help="Only answers of this agent version.")] = None,
    model: Annotated[str | None, typer.Option(help="Only answers of this language model.")] = None,
    reaction: Annotated[str | None, typer.Option(help="ok, not_ok or neutral.")] = None,
    feedback_type: Annotated[str | None, typer.Option(help="reaction, explicit, inferred, implicit or rating.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only feedback with this reason.")] = None,
    user_id: Annotated[str | None, typer.Option(help="Only feedback from this person.")] = None,
    conversation_id: Annotated[str | None, typer.Option(help="Only this conversation.")] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Minimum confidence. The learned layer's rejections after long answers have at most 0.83.",
        ),
    ] = None,
    start: Annotated[str | None, typer.Option(help="Only feedback given at or after this RFC 3339 time.")] = None,
    end: Annotated[str | None, typer.Option(help="Only feedback given at or before this RFC 3339 time.")] = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Include the detector's verdicts, not only people's.")
    ] = False,
    state: State = DEFAULT_STATE,
    as_json: AsJson = False,
) -> None:
    """Write people's feedback as training examples, in the columns that TRL reads.

    `agent-feedback export kto --out kto.jsonl --tenant demo --project support`
    """
    from importlib.metadata import version

    import httpx

    url, token = address_of(url, token, state)
    given: dict[str, str | float | None] = {
        "agent_id": agent_id,
        "agent_version": agent_version,
        "model": model,
        "reaction": reaction,
        "feedback_type": feedback_type,
        "tag": tag,
        "user_id": user_id,
        "conversation_id": conversation_id,
        "min_confidence": min_confidence,
        "start": start,
        "end": end,
    }
    filters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if everyone:
        filters["everyone"] = True
    path = f"/conversations/{tenant}/{project}/exports/{wanted.value}"
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        received = _downloaded(http, path, filters, out, quiet=as_json)
        counted = http.get(f"{path}/counts", params=filters)
        left_out: dict[str, int] = counted.json()["left_out"] if counted.is_success else {}
    manifest = {
        "format": wanted.value,
        "file": out.name,
        "tenant": tenant,
        "project": project,
        "filters": filters,
        "exported_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "agent_feedback": version("agent-feedback"),
        **received,
        "left_out": left_out,
    }
    Path(f"{out}.manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if as_json:
        print_json(manifest)
    else:
        size = f"{manifest['examples']:,} examples, {manifest['bytes']:,} bytes"
        say(f"Wrote {size} to {out}; {out.name}.manifest.json describes them.")
        say(_left_out_in_words(left_out))


def _left_out_in_words(left_out: Mapping[str, int]) -> str:
    if not left_out:
        return "No other verdict matches."
    reasons = ", ".join(f"{number:,} {reason.replace('_', ' ')}" for reason, number in left_out.items())
    return f"Left out: {sum(left_out.values()):,} verdicts ({reasons})."


def _downloaded(http: httpx.Client, path: str, query: dict[str, Any], out: Path, *, quiet: bool) -> dict[str, Any]:
    """Download the response to `out`, which is written completely or not at all.

    Returns:
        The size in bytes, the digest, and the number of examples.
    """
    import httpx

    digest, size, lines = hashlib.sha256(), 0, 0
    bar = Progress(
        TextColumn("Exporting"),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    )
    try:
        with bar, _written(out) as file, http.stream("GET", path, params=query) as answer:
            if answer.is_error:
                answer.read()
                say(explain(answer), "red")
                raise typer.Exit(FAILED)
            task = bar.add_task("Exporting", total=None)
            for piece in answer.iter_bytes():
                file.write(piece)
                digest.update(piece)
                size += len(piece)
                lines += piece.count(b"\n")
                bar.update(task, completed=size)
    except httpx.HTTPError as error:
        say(f"{http.base_url} broke off the export ({type(error).__name__}); nothing was written.", "red")
        raise typer.Exit(FAILED) from None
    except OSError as error:
        say(f"{out} cannot be written: {error.strerror}.", "red")
        raise typer.Exit(FAILED) from None
    return {"examples": lines, "bytes": size, "sha256": digest.hexdigest()}


@contextmanager
def _written(out: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `out` if the block succeeds."""
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
