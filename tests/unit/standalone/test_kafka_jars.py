"""The download of Kafka's jars by several processes at once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest

from standalone.embedded import kafka_parts
from standalone.embedded.kafka_parts import find_jars

jgo = pytest.importorskip("jgo")


def test_the_jars_are_downloaded_once_by_runs_that_start_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar, digests = tmp_path / "kafka.jar", tmp_path / "jars.sha256"
    digests.write_text(f"{hashlib.sha256(b'code').hexdigest()}  kafka.jar\n")
    downloads: list[str] = []

    def build(coordinates: str, **_: object) -> SimpleNamespace:
        downloads.append(coordinates)
        jar.write_bytes(b"code")
        return SimpleNamespace(all_jars=[jar])

    monkeypatch.setattr(jgo, "build", build)
    monkeypatch.setattr("jgo.constants.default_jgo_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(kafka_parts, "_DIGESTS", digests)
    together, listed = Barrier(2), kafka_parts._listed
    asked: list[Path] = []

    def both_find_nothing(listing: Path) -> list[Path]:
        found = listed(listing)
        asked.append(listing)
        if len(asked) <= 2:
            together.wait(60)
        return found

    monkeypatch.setattr(kafka_parts, "_listed", both_find_nothing)
    said: list[str] = []
    with ThreadPoolExecutor(2) as runs:
        assert list(runs.map(lambda _: find_jars(said.append), range(2))) == [[jar], [jar]]
    assert len(downloads) == len(said) == 1
