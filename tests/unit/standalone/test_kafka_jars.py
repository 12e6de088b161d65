"""The download of Kafka's jars: once, whole and unchanged, also by several processes at once."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest

from standalone.embedded import kafka_parts
from standalone.embedded.kafka_parts import LocalKafkaError, find_jars

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


class Maven:
    """Downloads that put these contents into the jar, one after the other; errors are raised."""

    def __init__(self, jar: Path, contents: Sequence[bytes | Exception | None]) -> None:
        self._jar, self._contents = jar, list(contents)
        self.updates: list[bool] = []

    def build(self, coordinates: str, update: bool = False) -> SimpleNamespace:
        assert coordinates.startswith("org.apache.kafka:kafka_2.13:4.")
        self.updates.append(update)
        content = self._contents.pop(0)
        if isinstance(content, Exception):
            raise content
        if content is not None:
            self._jar.write_bytes(content)
        return SimpleNamespace(all_jars=[self._jar])


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the only jar, whose content is "code"."""
    digests = tmp_path / "jars.sha256"
    digests.write_text(f"{hashlib.sha256(b'code').hexdigest()}  kafka.jar\n")
    monkeypatch.setattr("jgo.constants.default_jgo_cache", lambda: tmp_path / "home" / "cache")
    monkeypatch.setattr(kafka_parts, "_DIGESTS", digests)
    return tmp_path / "kafka.jar"


def test_jars_that_are_there_are_not_downloaded_again(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven, said = Maven(jar, [b"code", b"code"]), list[str]()
    monkeypatch.setattr(jgo, "build", maven.build)
    assert [find_jars(said.append), find_jars(said.append)] == [[jar], [jar]]
    assert maven.updates == [False]
    assert said == [f"Downloading Apache Kafka {kafka_parts.KAFKA_VERSION} from Maven Central: 44 MB, once."]
    jar.write_bytes(b"damaged")
    assert find_jars(said.append) == [jar]
    assert len(maven.updates) == len(said) == 2


def test_a_cache_that_is_incomplete_is_updated(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven = Maven(jar, [None, b"code"])
    monkeypatch.setattr(jgo, "build", maven.build)
    assert find_jars(print) == [jar]
    assert maven.updates == [False, True]


def test_a_jar_that_differs_is_refused(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven = Maven(jar, [b"other", b"other", b"other", b"other"])
    monkeypatch.setattr(jgo, "build", maven.build)
    for _ in range(2):
        with pytest.raises(LocalKafkaError, match=r"^Jars of Kafka are missing or differ from Apache's \(kafka\.jar\)"):
            find_jars(print)
    assert len(maven.updates) == 4, "a jar that was refused is not used later"


def test_a_download_that_fails_names_the_remedy(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jgo, "build", Maven(jar, [OSError("no network")]).build)
    with pytest.raises(
        LocalKafkaError, match=r"^Kafka's jars cannot be downloaded .* \(no network\); connect .*--broker"
    ):
        find_jars(print)
    monkeypatch.setitem(sys.modules, "jgo.constants", None)
    with pytest.raises(LocalKafkaError, match=r"^The package jgo, .* pip install 'agent-feedback\[local\]'\.$"):
        find_jars(print)
