"""Ctrl-C before a program has started: it ends at once, without the traceback of whatever was being imported."""

from __future__ import annotations

import signal


def end_at_once() -> None:
    """Let SIGINT end the process silently, until `raise_again`. Does nothing where SIGINT is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let SIGINT raise KeyboardInterrupt, as asyncio expects. Undoes `end_at_once` and nothing else."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
