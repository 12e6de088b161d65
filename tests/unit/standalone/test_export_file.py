"""An exported file is replaced as a whole or stays as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer

from standalone.cli.export import _downloaded

OLD, NEW = b"of yesterday\n", b'{"prompt": 1}\n{"prompt": 2}\n'


def exported(out: Path, answer: httpx.Response) -> dict[str, object]:
    with httpx.Client(base_url="http://service", transport=httpx.MockTransport(lambda _: answer)) as http:
        return _downloaded(http, "/exports/kto", {}, out, quiet=True)


class _Broken(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield NEW[:10]
        raise httpx.ReadError("gone")


@pytest.mark.parametrize(
    "answer",
    [httpx.Response(200, stream=_Broken()), httpx.Response(503, json={"detail": "Later."})],
    ids=["broken off", "refused"],
)
def test_an_export_that_fails_leaves_the_file_as_it_was(tmp_path: Path, answer: httpx.Response) -> None:
    out = tmp_path / "kto.jsonl"
    out.write_bytes(OLD)
    with pytest.raises(typer.Exit):
        exported(out, answer)
    assert out.read_bytes() == OLD
    assert [file.name for file in tmp_path.iterdir()] == ["kto.jsonl"]


def test_an_export_that_ends_well_takes_the_files_place(tmp_path: Path) -> None:
    out = tmp_path / "kto.jsonl"
    out.write_bytes(OLD)
    said = exported(out, httpx.Response(200, content=NEW))
    assert out.read_bytes() == NEW
    assert said == {"examples": 2, "bytes": len(NEW), "sha256": hashlib.sha256(NEW).hexdigest()}
    assert [file.name for file in tmp_path.iterdir()] == ["kto.jsonl"]
