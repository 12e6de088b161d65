"""Event files of other programs."""

from __future__ import annotations

from pathlib import Path

from standalone.one_process.lines import Routed, lines_of, route


def test_a_byte_order_mark_and_other_ends_of_lines_change_nothing(tmp_path: Path) -> None:
    line = b'{"topic":"chat.message.ingested"}'
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line)
    assert [route(found) for _, found in lines_of(file)] == [Routed("chat.message.ingested", None, line)] * 2
