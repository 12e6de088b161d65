"""Entry point of the inference service in its own process."""

from __future__ import annotations

from servicekit.interrupts import run_service

if __name__ == "__main__":
    run_service("inference")
