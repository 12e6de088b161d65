"""Loads the file `.env` into the environment, and records which variables were set from it."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

from dotenv import load_dotenv
from dotenv.parser import parse_stream

from servicekit.errors import StartError

FROM_FILE = "_FILE"
"""Suffix of a variable that names a file with the value, such as a mounted secret."""
_files: dict[str, Path] = {}
"""Path of the `.env` file that set a variable, by the variable's name."""


def read_env_file(path: Path = Path(".env")) -> None:
    """Set the variables of the file `path` that the environment lacks; do nothing if the file does not exist.

    Raises StartError if the file cannot be read or a line of it is not an assignment.
    """
    if not path.is_file():
        return
    named = path.absolute()
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"The file {named} cannot be read: {type(error).__name__}.") from None
    for binding in parse_stream(StringIO(text)):
        if binding.error:
            raise StartError(f"Line {binding.original.line} of the file {named} is not NAME=value.")
    before = set(os.environ)
    load_dotenv(stream=StringIO(text))
    _files.update(dict.fromkeys(os.environ.keys() - before, named))


def place_of(variable: str) -> str:
    """Return the name under which `variable` is set (NAME or NAME_FILE), with the `.env` file that set it, if any."""
    name = next((name for name in (variable, variable + FROM_FILE) if os.environ.get(name)), variable)
    return f"{name} in {_files[name]}" if name in _files else name
