"""Run the service inference as a process."""

from __future__ import annotations

from servicekit.interrupts import end_at_once

if __name__ == "__main__":
    end_at_once()
    from inference.service import PROGRAM
    from servicekit.launcher import main

    main(PROGRAM)
