"""Commands that install the optional parts of the package, in the checkout, because no index has the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_USUAL: Final = ("standalone", "issues", "encoder")
"""Extras that README installs with uv. An installation removes all extras that its command does not name."""


def install_command(extra: str, prefix: Path | None = None) -> str:
    """Return the command that adds an extra to the running environment.

    Args:
        prefix: Folder of the environment, by default that of the running process.
    """
    if ((prefix or Path(sys.prefix)) / "uv-receipt.toml").exists():
        extras = dict.fromkeys((*_USUAL, extra))
        return f'uv tool install ".[{",".join(extras)}]" (in the checkout)'
    return f"pip install '.[{extra}]' (in the checkout)"
