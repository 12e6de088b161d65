"""Count of the product's source files in which a function is called: a reader of that path has to know them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[2]


@contextmanager
def entered_files(counts: Callable[[], bool] = lambda: True) -> Iterator[set[str]]:
    """Collect the Python files of libs and services in which a function is called, while `counts` is true."""
    files: set[str] = set()
    folders = (f"{ROOT}/libs/", f"{ROOT}/services/")

    def enter(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(folders) and name.endswith(".py") and counts():
            files.add(Path(name).relative_to(ROOT).as_posix())

    sys.setprofile(enter)
    try:
        yield files
    finally:
        sys.setprofile(None)
