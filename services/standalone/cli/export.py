"""The command `export`, which writes training examples to a file, with a manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer
from rich.progress import DownloadColumn

from standalone.operations.remote import Token, Url, address_of, explain
from standalone.state import DEFAULT_STATE
from standalone.terminal import FAILED, AsJson, State, pairs_of, print_json, progress_bar, say, with_options

if TYPE_CHECKING:
    import httpx


_ROW_DIGITS = 16
"""Hexadecimal digits of a row's digest in the manifest: two of a billion rows are equal with probability 0.03."""


Format = Literal["kto", "dpo", "sft", "events"]


@dataclass(frozen=True)
class _Options:
    out: Annotated[Path, typer.Option(help="The .jsonl file to write; OUT.manifest.json is written next to it.")]
    wanted: Annotated[Format | None, typer.Argument(help="kto, dpo, sft or events.", metavar="FORMAT")] = None
    tenant: Annotated[str | None, typer.Option(help="The tenant.")] = None
    project: Annotated[str | None, typer.Option(help="The project.")] = None
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="Manifest of an earlier export, which replaces FORMAT, tenant, project and filters: write its rows "
            "again, except those that were erased or changed since."
        ),
    ] = None
    url: Url = None
    token: Token = None
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            help="Only feedback that matches this filter of the list page, such as agent_id=helper, reaction=ok, "
            "min_confidence=0.8, start=2026-11-01T00:00:00Z or attributes.language=de. Also everyone=true, for the "
            "detector's verdicts as well as people's, and records=true, for every record. May be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None
    state: State = DEFAULT_STATE
    as_json: AsJson = False


@with_options(_Options)
def export(options: _Options) -> None:
    """Write people's feedback as training examples, in the columns that TRL reads.

    `agent-feedback export kto --out kto.jsonl --tenant demo --project support`
    """
    import httpx

    url, token = address_of(options.url, options.token, options.state)
    query = dict(pairs_of(options.filters or (), "--filter"))
    if options.manifest is not None:
        source, rows = _read_manifest(options.manifest)
    elif options.wanted is None or options.tenant is None or options.project is None:
        raise typer.BadParameter("without --manifest, FORMAT, --tenant and --project are required")
    else:
        scope = {"tenant": options.tenant, "project": options.project}
        source, rows = {"format": options.wanted, **scope, "filters": query}, None
    path = f"/conversations/{source['tenant']}/{source['project']}/exports/{source['format']}"
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        received = _downloaded(http, path, source["filters"], options.out, rows, quiet=options.as_json)
        left_out = _left_out(http, f"{path}/counts", source["filters"]) if rows is None else {}
    written = _write_manifest(options.out, source | received | {"left_out": left_out})
    if options.as_json:
        print_json({name: value for name, value in written.items() if name != "rows"})
    else:
        size = f"{written['examples']:,} examples, {written['bytes']:,} bytes"
        say(f"Wrote {size} to {options.out}; {options.out.name}.manifest.json describes them.")
        say(_left_out_in_words(written["left_out"]) if rows is None else _missing_in_words(rows, written["examples"]))


def _write_manifest(out: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Write the manifest of an export next to its file, and return its content."""
    from importlib.metadata import version

    exported_at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    manifest = facts | {"file": out.name, "exported_at": exported_at, "agent_feedback": version("agent-feedback")}
    Path(f"{out}.manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return manifest


def _read_manifest(path: Path) -> tuple[dict[str, Any], Counter[str]]:
    """Return the format, tenant, project and filters of an earlier export, and its number of rows by row digest."""
    try:
        manifest = json.loads(path.read_text("utf-8"))
        return {name: manifest[name] for name in ("format", "tenant", "project", "filters")}, Counter(manifest["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        raise typer.BadParameter(f"{path} is not the manifest of an export") from None


def _missing_in_words(rows: Counter[str], written: int) -> str:
    return f"{rows.total() - written:,} of the {rows.total():,} earlier rows were erased or changed since."


def _left_out(http: httpx.Client, path: str, query: dict[str, Any]) -> dict[str, int] | None:
    """Return the number of verdicts left out by reason, or None if the server has not counted them in time."""
    import httpx

    with suppress(httpx.HTTPError):
        answer = http.get(path, params=query)
        if answer.is_success:
            return dict(answer.json()["left_out"])
    return None


def _left_out_in_words(left_out: Mapping[str, int] | None) -> str:
    if left_out is None:
        return "The server could not count the verdicts that were left out."
    if not left_out:
        return "No other verdict matches."
    reasons = ", ".join(f"{number:,} {reason.replace('_', ' ')}" for reason, number in left_out.items())
    return f"Left out: {sum(left_out.values()):,} verdicts ({reasons})."


def _downloaded(
    http: httpx.Client, path: str, query: dict[str, Any], out: Path, only: Counter[str] | None = None, *, quiet: bool
) -> dict[str, Any]:
    """Download the response to `out`, which is written completely or not at all.

    Args:
        only: Digests of the rows to keep, with the number of times that each may be written. None keeps all rows.

    Returns:
        The size in bytes, the digest, the number of examples, and the digest of each row.
    """
    import httpx

    digest, size, rows, left = hashlib.sha256(), 0, list[str](), None if only is None else only.copy()
    progress = progress_bar("Exporting", None, quiet, DownloadColumn())
    try:
        with progress as advance, _written(out) as file, http.stream("GET", path, params=query) as answer:
            if answer.is_error:
                answer.read()
                say(explain(answer), "red")
                raise typer.Exit(FAILED)
            for line in _lines(answer.iter_bytes()):
                row = hashlib.sha256(line).hexdigest()[:_ROW_DIGITS]
                if left is not None:
                    if not left[row]:
                        continue
                    left[row] -= 1
                file.write(line)
                digest.update(line)
                size += len(line)
                rows.append(row)
                advance(len(line))
    except httpx.HTTPError as error:
        say(f"{http.base_url} broke off the export ({type(error).__name__}); nothing was written.", "red")
        raise typer.Exit(FAILED) from None
    except OSError as error:
        say(f"{out} cannot be written: {error.strerror}.", "red")
        raise typer.Exit(FAILED) from None
    return {"examples": len(rows), "bytes": size, "sha256": digest.hexdigest(), "rows": rows}


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a response, each with its line break."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


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
