"""The two distributions of this repository: each package is in one of them, with equal versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def _pyproject(folder: str) -> Any:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


APPLICATION, KIT = _pyproject("."), _pyproject("libs/agentkit")


def _packages(project: Any) -> set[str]:
    return {Path(package).name for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}


def test_no_package_is_in_two_distributions() -> None:
    assert _packages(KIT) == {"agent_feedback_kit"}
    assert not _packages(APPLICATION) & _packages(KIT)


def test_every_service_and_library_is_in_a_distribution() -> None:
    packages = {
        init.parent.name
        for pattern in ("services/*", "libs/*", "libs/agentkit/*")
        for init in ROOT.glob(f"{pattern}/__init__.py")
    }
    assert packages == _packages(APPLICATION) | _packages(KIT)


def test_the_application_requires_the_kit_of_its_own_version() -> None:
    assert KIT["project"]["version"] == APPLICATION["project"]["version"]
    assert f"agent-feedback-kit=={KIT['project']['version']}" in APPLICATION["project"]["dependencies"]


def test_a_later_release_of_a_dependency_is_not_installed_untested() -> None:
    """`tzdata` is a table, whose latest release is always the right one."""
    project = APPLICATION["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    open_ended = {
        one for one in declared if "<" not in one and "==" not in one and not one.startswith("agent-feedback[")
    }
    assert {re.split(r"[\[>=<]", one)[0] for one in open_ended} == {"tzdata"}


def test_every_distribution_has_the_licence() -> None:
    licence = (ROOT / "LICENSE").read_text()
    for folder in ("libs/agentkit", "clients/typescript"):
        assert (ROOT / folder / "LICENSE").read_text() == licence, folder


def test_no_lock_names_the_kit() -> None:
    """The kit comes from this repository, so a lock file with hashes could not be installed with it."""
    for lock in ROOT.glob("requirements*.txt"):
        assert not any(line.startswith("agent-feedback-kit") for line in lock.read_text().splitlines()), lock.name
