"""Loader for the file `.env`, which also records which variables the file has set."""

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
    """Set environment variables from the file `path`, except those that are already set.

    Does nothing if the file does not exist. Raises StartError if it cannot be read or has a line that is not an
    assignment.
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
    """Return the name of the environment variable that provides a setting, for use in error messages.

    This is `variable` or `variable`_FILE, followed by the path of the `.env` file if the file has set it.
    """
    name = next((name for name in (variable, variable + FROM_FILE) if os.environ.get(name)), variable)
    return f"{name} in {_files[name]}" if name in _files else name
