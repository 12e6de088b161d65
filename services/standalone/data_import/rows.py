"""Reader for rows of CSV, JSON Lines and JSON files. Only a JSON array is read into memory as a whole.

After an invalid row, reading continues at the next line.
"""

from __future__ import annotations

import csv
import json
from codecs import BOM_UTF8
from collections import deque
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


def rows_of(path: Path, delimiter: str = ",") -> Iterator[FileRow]:
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
        yield from read(file, delimiter)


def _after_mark(file: BinaryIO) -> None:
    """Move to the start of the content, skipping a byte order mark if there is one."""
    if file.read(len(BOM_UTF8)) != BOM_UTF8:
        file.seek(0)


def header_of(path: Path, delimiter: str = ",") -> list[str] | None:
    """Return the column names of a CSV or TSV file, or None for other files.

    Raises:
        MappingInvalid: The header is invalid.
    """
    if _READERS.get(path.suffix.lower()) not in (_csv, _tsv):
        return None
    delimiter = "\t" if path.suffix.lower() == ".tsv" else delimiter
    with path.open("rb") as file:
        _after_mark(file)
        try:
            names = next(csv.reader(_Lines(file), delimiter=delimiter, strict=True), [])
        except (csv.Error, _RowTooLarge):
            names = []
    if len(set(names)) != len(names) or not any(names):
        raise MappingInvalid(f"{path.name}: its first line must name its columns, each once.")
    return names


class _Lines:
    """Line reader that can return to the second line of a row, to continue there if the row turns out to be invalid."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._again: deque[bytes] = deque()
        self._row: list[bytes] = []
        self._size = 0
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self.next_bytes()
        self._row.append(line)
        self._size += len(line)
        if self._size > ROW_LIMIT:
            raise _RowTooLarge
        return line.decode("utf-8", "surrogateescape")

    def next_bytes(self) -> bytes:
        """Return the next line with its line break, truncated if it exceeds the limit.

        Raises:
            StopIteration: The file has ended.
        """
        line = self._again.popleft() if self._again else self._file.readline(ROW_LIMIT + 1)
        if not line:
            raise StopIteration
        rest = line
        while len(line) > ROW_LIMIT and rest and not rest.endswith(b"\n"):
            rest = self._file.readline(ROW_LIMIT)
        self.number += 1
        return line

    def begin_row(self) -> int:
        """Begin a row and return its line number, discarding the lines of the previous row."""
        self._row, self._size = [], 0
        return self.number + 1

    def reread(self) -> None:
        """Go back to the second line of the current row, because the row could not be parsed."""
        lines = self._row[1:]
        self._again.extendleft(reversed(lines))
        self.number -= len(lines)


class _RowTooLarge(Exception):
    """Raised if the lines of a row exceed the size limit."""


def _csv(file: BinaryIO, delimiter: str) -> Iterator[FileRow]:
    csv.field_size_limit(ROW_LIMIT)
    lines = _Lines(file)
    names: list[str] | None = None
    while True:
        first = lines.begin_row()
        try:
            cells = next(csv.reader(lines, delimiter=delimiter, strict=True))
        except StopIteration:
            return
        except (csv.Error, _RowTooLarge):
            lines.reread()
            yield FileRow(first, file.tell(), RejectedRow("its quotation marks do not match, or it is too large"))
            continue
        if names is None:
            names = cells
        elif cells:
            yield FileRow(first, file.tell(), _row(names, cells))


def _tsv(file: BinaryIO, _: str) -> Iterator[FileRow]:
    return _csv(file, "\t")


def _row(names: list[str], cells: list[str]) -> Cells | RejectedRow:
    if len(cells) != len(names):
        return RejectedRow(f"it has {len(cells)} cells, the header {len(names)}")
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return _NO_TEXT
    return dict(zip(names, cells, strict=True))


def _json_lines(file: BinaryIO, _: str) -> Iterator[FileRow]:
    lines = _Lines(file)
    while True:
        try:
            line = lines.next_bytes()
        except StopIteration:
            return
        if line.strip():
            content = _TOO_LARGE if len(line) > ROW_LIMIT else _object(_json(line))
            yield FileRow(lines.number, file.tell(), content)


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


def _json_file(file: BinaryIO, delimiter: str) -> Iterator[FileRow]:
    """Yield the elements of a JSON array, or read the file as JSON Lines if it does not start with an array."""
    start = file.tell()
    while (first := file.read(1)).isspace():
        pass
    file.seek(start)
    return _json_array(file) if first == b"[" else _json_lines(file, delimiter)


def _json_array(file: BinaryIO) -> Iterator[FileRow]:
    """Yield the elements of an array, which is read as a whole."""
    content = _json(file.read())
    elements = [content] if isinstance(content, RejectedRow) else content
    for number, element in enumerate(elements, 1):
        yield FileRow(number, file.tell(), _object(element))


_READERS: Final[dict[str, Callable[[BinaryIO, str], Iterator[FileRow]]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json_file,
}
