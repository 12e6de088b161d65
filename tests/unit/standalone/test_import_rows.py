"""Rows of imported files at the limits: sizes, pieces, line numbers, and files that end early."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from standalone.data_import import rows
from standalone.data_import.mapping import RejectedRow
from standalone.data_import.rows import ROW_LIMIT, header_of, rows_of
from standalone.data_import.verdicts import MappingInvalid

TOO_LARGE = f"it is larger than {ROW_LIMIT} bytes"
MISMATCH = "its quotation marks do not match, or it is too large"
NO_JSON = "it is not JSON"


def found(path: Path, content: bytes) -> list[tuple[int, Any]]:
    """Return the line and the content, or the reason for the rejection, of each row of a file."""
    path.write_bytes(content)
    return [
        (row.line, row.content.reason if isinstance(row.content, RejectedRow) else dict(row.content))
        for row in rows_of(path)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit rows to 20 bytes."""
    monkeypatch.setattr(rows, "ROW_LIMIT", 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", [b"\n", b""], ids=["line break", "end of the file"])
def test_a_line_of_json_may_be_as_large_as_the_limit(tmp_path: Path, end: bytes) -> None:
    exact, large = b'{"a": 1}'.ljust(20 - len(end)), b'{"a": 1}'.ljust(21 - len(end))
    assert found(tmp_path / "x.jsonl", exact + end) == [(1, {"a": 1})]
    assert found(tmp_path / "x.jsonl", large + end) == [(1, TOO_LARGE)]
    content = large.ljust(70) + b"\n" + exact + end
    assert found(tmp_path / "x.jsonl", content) == [(1, TOO_LARGE), (2, {"a": 1})]


@pytest.mark.usefixtures("small")
def test_a_row_of_csv_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    exact = b'1,"' + b"x" * 10 + b'\nabcd"\n'
    assert len(exact) == 20
    text = "x" * 10 + "\nabcd"
    content = b"a,b\n" + exact + b'2,"' + b"x" * 11 + b'\nabcd"\n' + exact
    assert found(tmp_path / "x.csv", content) == [
        (2, {"a": "1", "b": text}), (4, MISMATCH), (5, "it has 1 cells, the header 2"), (6, {"a": "1", "b": text})
    ]  # fmt: skip


def test_a_cell_may_be_larger_than_the_csv_modules_default(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)
    [(_, row)] = found(tmp_path / "x.csv", b"a\n" + b"x" * 200_000)
    assert len(row["a"]) == 200_000


def test_after_a_row_that_cannot_be_parsed_reading_goes_on_with_the_next_line(tmp_path: Path) -> None:
    content = b'a,b\n1,"x\n2,y\n3,z\n"4",w\n'
    assert found(tmp_path / "x.csv", content) == [
        (2, MISMATCH), (3, {"a": "2", "b": "y"}), (4, {"a": "3", "b": "z"}), (5, {"a": "4", "b": "w"})
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'a,b\n1,2\n\n3,"4\n5"\n'), ("x.jsonl", b'{"a": 1}\n\n{"a": 2}\n'),
        ("x.json", b'[{"a": 1},\n{"a": 2}]'), ("x.json", b'{"a": 1}\n{"a": 2}'),
    ],
)  # fmt: skip
def test_the_bytes_that_were_read_add_up_to_the_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    read = [row.read for row in rows_of(tmp_path / name)]
    assert len(read) == 2
    assert 0 < read[0] <= read[1] == len(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", []),
        (b" \n [ ] ", []),
        (b'[\n{"a": 1}\n,\n{"a":\n2}, {"a": 3}\n]', [(1, {"a": 1}), (2, {"a": 2}), (3, {"a": 3})]),
        (b'[{"a": 1}', [(1, NO_JSON)]),
        (b'[{"a": "\xff"}]', [(1, "it is not UTF-8")]),
        (b'\xef\xbb\xbf\n[{"a": 1}]', [(1, {"a": 1})]),
    ],
)
def test_elements_of_an_array(tmp_path: Path, content: bytes, expected: Sequence[Any]) -> None:
    assert found(tmp_path / "x.json", content) == list(expected)


def test_text_that_nests_too_deeply_is_not_json(tmp_path: Path) -> None:
    deep = b"[" * 100_000
    assert found(tmp_path / "x.jsonl", b'{"a": ' + deep + b'\n{"a": 1}') == [(1, NO_JSON), (2, {"a": 1})]
    assert found(tmp_path / "x.json", b'[{"a": 1}, ' + deep) == [(1, NO_JSON)]


@pytest.mark.parametrize(
    ("name", "content", "header"),
    [
        ("x.csv", b"\xef\xbb\xbfa,b\n1,2", ["a", "b"]), ("x.CSV", b"a;b", ["a;b"]),
        ("x.TSV", b"a\tb,c\n", ["a", "b,c"]), ("x.csv", b'"a\nb",c\n', ["a\nb", "c"]), ("x.csv", b"a,", ["a", ""]),
        ("x.jsonl", b"{}", None),
        ("x.json", b"a,a", None),
    ],
)  # fmt: skip
def test_the_columns_are_those_of_the_first_row(
    tmp_path: Path, name: str, content: bytes, header: list[str] | None
) -> None:
    (tmp_path / name).write_bytes(content)
    assert header_of(tmp_path / name) == header


def test_the_columns_of_csv_are_separated_as_asked(tmp_path: Path) -> None:
    for name, expected in (("x.csv", ["a", "b,c"]), ("x.tsv", ["a;b,c"])):
        (tmp_path / name).write_bytes(b"a;b,c\n")
        assert header_of(tmp_path / name, ";") == expected


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("extra", "is_taken"), [(0, True), (1, False)])
def test_the_first_row_may_be_as_large_as_the_limit(tmp_path: Path, extra: int, is_taken: bool) -> None:
    (tmp_path / "x.csv").write_bytes(b"a," + b"b" * (17 + extra) + b"\n")
    if is_taken:
        assert header_of(tmp_path / "x.csv") == ["a", "b" * 17]
    else:
        with pytest.raises(MappingInvalid):
            header_of(tmp_path / "x.csv")


@pytest.mark.parametrize("content", [b"", b"\n", b'""\n1', b",\n1,2", b"a,b,a\n", b'"a\n'])
def test_a_file_without_names_of_columns_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(MappingInvalid, match=r"^x\.csv: its first line must name its columns, each once\.$"):
        header_of(tmp_path / "x.csv")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").touch()
    said = r"^x\.xlsx: an import reads files named \.csv, \.tsv, \.jsonl, \.ndjson, \.json\.$"
    with pytest.raises(MappingInvalid, match=said):
        list(rows_of(tmp_path / "x.xlsx"))


def test_names_of_files_may_be_in_capitals(tmp_path: Path) -> None:
    assert found(tmp_path / "X.JSON", json.dumps([{"a": 1}]).encode()) == [(1, {"a": 1})]
