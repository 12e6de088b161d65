"""Runs the service chat_bridge on its own."""

from __future__ import annotations

from servicekit.interrupts import end_at_once

if __name__ == "__main__":
    end_at_once()
    from chat_bridge.service import PROGRAM
    from servicekit.launcher import main

    main(PROGRAM)
