"""Mutants of the TypeScript client and of the widget, as Stryker's instrumenter makes them.

Stryker's own runners need its test frameworks; ours need a running stack and a browser. So only its mutants are taken.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from proofs.mutants.mutant import ROOT, Mutant

CLIENT = "clients/typescript"
WIDGET = f"{CLIENT}/widget/thumbs.js"
_SERVED = "services/feedback/widget/thumbs.min.js"
_STRYKER = "@stryker-mutator/instrumenter@9.6.1"
"""The last release for Node 20."""
_TOOLS = ROOT / ".agent-feedback" / "mutants" / "stryker"
_OF_CLIENT = ("tests/release/test_typescript.py::test_the_client_against_the_running_stack",)
_OF_WIDGET = (
    "tests/pages/test_widget_element.py",
    "tests/pages/test_widget.py",
)
TESTS = {f"{CLIENT}/src/asking.ts": _OF_CLIENT, f"{CLIENT}/src/index.ts": _OF_CLIENT, WIDGET: _OF_WIDGET}
"""The mutated files, each with its tests. `schema.ts` holds types only."""
SECONDS = {WIDGET: 180}
"""Seconds that the tests of a file may take if they take longer than others: the widget's tests run in a browser."""


def install() -> bool:
    """Download Stryker's instrumenter once. Returns False, and says so, without npm or its registry."""
    if (_TOOLS / "node_modules" / "@stryker-mutator").exists():
        return True
    if npm := shutil.which("npm"):
        _TOOLS.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-save", "--prefix", str(_TOOLS), _STRYKER]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return True
    print("No mutants of the TypeScript client: they need Node 20, npm and its registry.", file=sys.stderr)
    return False


def typescript_mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file. Raises CalledProcessError unless the instrumenter was installed."""
    command = ["node", str(Path(__file__).with_name("stryker.mjs")), str(ROOT / file)]
    listed = subprocess.run(command, cwd=_TOOLS, capture_output=True, check=True, text=True).stdout
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: dict[str, int]) -> int:
        return starts[place["line"]] + place["column"]

    made = []
    for one in json.loads(listed):
        start, end = offset(one["location"]["start"]), offset(one["location"]["end"])
        line = one["location"]["start"]["line"] + 1
        made.append(Mutant(file, start, end, one["replacement"], one["mutatorName"], line, text[start:end]))
    return sorted(set(made))


def build_widget(folder: Path) -> None:
    """Bundle the widget of the copy in `folder` as the service serves it; a file that is no JavaScript is left out."""
    client = folder / CLIENT
    if not (client / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=client, capture_output=True, check=True)
    built = subprocess.run(["npm", "run", "--silent", "widget"], cwd=client, capture_output=True, check=False)
    (folder / _SERVED).write_bytes(built.stdout)
