"""Handling of Ctrl-C during imports, where it ends the program immediately and without a traceback."""

from __future__ import annotations

import signal
from importlib import import_module

from servicekit.garbage_collection import collect_rarely


def end_at_once() -> None:
    """Make SIGINT end the process without a traceback until `raise_again` is called.

    Does nothing if SIGINT is ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Undo `end_at_once`, so that SIGINT raises KeyboardInterrupt again, as asyncio expects."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_service(name: str) -> None:
    """Run the service in the module `name`.service with the command-line options (see `launcher.main`)."""
    end_at_once()
    collect_rarely()
    from servicekit.launcher import main  # The import includes all clients, which takes a second.

    main(import_module(f"{name}.service").PROGRAM)
