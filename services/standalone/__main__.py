"""Entry point of the command `agent-feedback`, also available as `python -m standalone`."""

from __future__ import annotations

from servicekit.garbage_collection import collect_rarely
from servicekit.interrupts import end_at_once


def main() -> None:
    """Run the command line."""
    end_at_once()
    collect_rarely()
    from standalone.cli.app import app

    app()


if __name__ == "__main__":
    main()
