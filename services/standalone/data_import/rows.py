"""Reader for rows of CSV, JSON Lines and JSON files. Only a JSON array is read into memory as a whole."""

from __future__ import annotations

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from contracts.base import RECORD_LIMIT
from standalone.data_import.mapping import Cells, RejectedRow
from standalone.data_import.verdicts import MappingInvalid

ROW_LIMIT: Final = 16 * RECORD_LIMIT
"""Maximum size of a row in bytes. Some tools write the whole conversation into each row."""
_TOO_LARGE: Final = RejectedRow(f"it is larger than {ROW_LIMIT} bytes")
_NO_TEXT: Final = RejectedRow("it is not UTF-8")
_UNPARSED: Final = RejectedRow("its quotation marks do not match, or it is too large: no row after it was read")


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row with its content, or with the reason for its rejection.

    Attributes:
        line: Number of the row's first line, counted from 1, or of the element in a JSON array.
        read: Number of bytes read from the file so far.
    """

    line: int
    read: int
    content: Cells | RejectedRow


def rows_of(path: Path) -> Iterator[FileRow]:
    """Yield the rows of a file in the format given by its suffix: .csv, .tsv, .jsonl, .ndjson or .json.

    A .json file contains an array or JSON Lines.

    Raises:
        MappingInvalid: The suffix is unknown.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise MappingInvalid(f"{path.name}: an import reads files named {', '.join(_READERS)}.")
    with path.open("rb") as file:
        _after_mark(file)
        yield from read(file)


def _after_mark(file: BinaryIO) -> None:
    """Move to the start of the content, skipping a byte order mark if there is one."""
    if file.read(len(BOM_UTF8)) != BOM_UTF8:
        file.seek(0)


def header_of(path: Path) -> list[str] | None:
    """Return the column names of a CSV or TSV file, or None for other files.

    Raises:
        MappingInvalid: The header is invalid.
    """
    if _READERS.get(path.suffix.lower()) is not _csv:
        return None
    with path.open("rb") as file:
        _after_mark(file)
        try:
            names: list[str] = next(_reader(_Lines(file), _delimiter(file)), [])
        except csv.Error:
            names = []
    if len(set(names)) != len(names) or not any(names):
        raise MappingInvalid(f"{path.name}: its first line must name its columns, each once.")
    return names


class _Lines:
    """Lines of a file as text. The size of a row's lines is limited."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.row_size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(ROW_LIMIT + 1)
        if not line:
            raise StopIteration
        self.row_size += len(line)
        if self.row_size > ROW_LIMIT:
            raise csv.Error
        return line.decode("utf-8", "surrogateescape")


def _delimiter(file: BinaryIO) -> str:
    """Return the most frequent one of tab, `;` and `,` in the next line."""
    start = file.tell()
    line = file.readline(ROW_LIMIT)
    file.seek(start)
    counts = {character: line.count(character.encode()) for character in "\t;,"}
    return max(counts, key=counts.__getitem__) if any(counts.values()) else ","


def _reader(lines: _Lines, delimiter: str) -> Any:
    csv.field_size_limit(ROW_LIMIT)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _csv(file: BinaryIO) -> Iterator[FileRow]:
    """Yield the rows up to the first one that cannot be parsed, because its end, and so the next row, is unknown."""
    lines = _Lines(file)
    reader = _reader(lines, _delimiter(file))
    names: list[str] | None = None
    while True:
        first, lines.row_size = reader.line_num + 1, 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield FileRow(first, file.tell(), _UNPARSED)
            return
        if names is None:
            names = cells
        elif cells:
            yield FileRow(first, file.tell(), _row(names, cells))


def _row(names: list[str], cells: list[str]) -> Cells | RejectedRow:
    if len(cells) != len(names):
        return RejectedRow(f"it has {len(cells)} cells, the header {len(names)}")
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return _NO_TEXT
    return dict(zip(names, cells, strict=True))


def _json_lines(file: BinaryIO) -> Iterator[FileRow]:
    number = 0
    while line := file.readline(ROW_LIMIT + 1):
        number += 1
        rest = line
        while len(line) > ROW_LIMIT and rest and not rest.endswith(b"\n"):
            rest = file.readline(ROW_LIMIT)
        if line.strip():
            content = _TOO_LARGE if len(line) > ROW_LIMIT else _object(_json(line))
            yield FileRow(number, file.tell(), content)


def _json(text: bytes) -> Any:
    """Return the JSON value in `text`, or the reason why there is none."""
    try:
        return json.loads(text.decode())
    except UnicodeDecodeError:
        return _NO_TEXT
    except (ValueError, RecursionError):
        return RejectedRow("it is not JSON")


def _object(value: Any) -> Cells | RejectedRow:
    return value if isinstance(value, Mapping | RejectedRow) else RejectedRow("it is not a JSON object")


def _json_file(file: BinaryIO) -> Iterator[FileRow]:
    """Yield the elements of a JSON array, or read the file as JSON Lines if it does not start with an array."""
    start = file.tell()
    while (first := file.read(1)).isspace():
        pass
    file.seek(start)
    return _json_array(file) if first == b"[" else _json_lines(file)


def _json_array(file: BinaryIO) -> Iterator[FileRow]:
    """Yield the elements of an array, which is read as a whole."""
    content = _json(file.read())
    elements = [content] if isinstance(content, RejectedRow) else content
    for number, element in enumerate(elements, 1):
        yield FileRow(number, file.tell(), _object(element))


_READERS: Final[dict[str, Callable[[BinaryIO], Iterator[FileRow]]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_file,
}
