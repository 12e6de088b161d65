"""Command group that prints usage errors as one sentence, like all other errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from standalone.terminal import FAILED, say

_OF_OURS = "Invalid value: "
"""Prefix to remove from the errors of our commands, whose text is already a sentence."""


class PlainErrorGroup(TyperGroup):
    """Command group that prints a usage error as one sentence on stderr and exits with code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command in `args`, raising SystemExit unless `standalone_mode` is False."""
        try:
            _refuse_empty_options(sys.argv[1:] if args is None else args)
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except (typer.TyperException, typer.Abort) as error:
            if not standalone_mode:
                raise
            if isinstance(error, typer.Abort):
                say("Aborted.", "red")
                sys.exit(FAILED)
            if sentence := usage_error(error):
                say(sentence, "red")
            sys.exit(error.exit_code)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def _refuse_empty_options(args: Sequence[str]) -> None:
    """Raise BadParameter if an option has an empty value, because `--user "$USER_ID"` must not mean all users."""
    for option, following in zip(args, (*args[1:], None), strict=True):
        name, equals, value = option.partition("=")
        if option == "--":
            return
        if name.startswith("--") and not value and (equals or following == ""):
            raise typer.BadParameter(f"The value of {name} is empty")


def usage_error(error: typer.TyperException) -> str:
    """Return a usage error as a sentence, or an empty string if the help is already on the screen.

    For errors of the option parser, the sentence also refers to `--help`.
    """
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":  # typer does not export this class; the help is on the screen
        return ""
    text = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    if text.startswith(_OF_OURS):
        return f"{text.removeprefix(_OF_OURS)}."
    if context is None:
        return f"{text}."
    return f"{text}{' See' if text.endswith('?') else '; see'} `{context.command_path} --help`."
