"""Environment with only the requirements of one extra of pyproject.toml, created without a network."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]
LIBRARIES = {"inference": ("chat_completions", "detector"), "reporting": ("chat_completions", "detector")}
"""Our packages that a service needs in addition to contracts and servicekit; the kit is a separate distribution."""


def distributions_of(service: str) -> dict[str, Distribution]:
    """Return the distributions that `pip install agent-feedback[SERVICE]` installs, by name, as installed here.

    Follows the requirements of pyproject.toml. Raises PackageNotFoundError if one of them is not installed here.
    """
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"][service.replace("_", "-")]
    open_ends = [Requirement(text) for text in (*project["dependencies"], *extra)]
    found: dict[str, Distribution] = {}
    followed: set[tuple[str, str]] = set()
    while open_ends:
        wanted = open_ends.pop()
        name = canonicalize_name(wanted.name)
        for asked in ("", *wanted.extras):
            if (name, asked) in followed:
                continue
            followed.add((name, asked))
            found[name] = distribution(wanted.name)
            for text in found[name].requires or ():
                requirement = Requirement(text)
                if requirement.marker is None or requirement.marker.evaluate({"extra": asked}):
                    open_ends.append(requirement)
    return found


def environment_of(service: str, folder: Path) -> Path:
    """Create the environment in `folder`. Return its Python, which has this service, its libraries and its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next((folder / "lib").glob("python3*")) / "site-packages"
    for found in distributions_of(service).values():
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (packages / name).symlink_to(Path(str(found.locate_file(name))).resolve())
    for library in ("contracts", "redaction", "servicekit", *LIBRARIES.get(service, ())):
        (packages / library).symlink_to(REPOSITORY / "libs" / library)
    (packages / service).symlink_to(REPOSITORY / "services" / service)
    return folder / "bin" / "python"
