"""Checks on the files of chat events passed to a command."""

from __future__ import annotations

from pathlib import Path

import typer

from standalone.terminal import say


def checked_files(files: list[Path]) -> list[Path]:
    for file in files:
        if not file.is_file():
            raise typer.BadParameter(f"{file} is not a file." if file.exists() else f"There is no file {file}.")
        if file.stat().st_size == 0:
            say(f"{file} is empty: there is nothing to replay.")
    return files
