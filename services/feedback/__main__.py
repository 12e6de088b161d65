"""The service feedback as its own process."""

from __future__ import annotations

from servicekit.interrupts import end_at_once

if __name__ == "__main__":
    end_at_once()
    from feedback.service import PROGRAM
    from servicekit.launcher import main

    main(PROGRAM)
