"""Free ports on the loopback address."""

import random
import socket
import sys
from typing import Final

LOOPBACK: Final = "127.0.0.1"

# Below the ephemeral ports. A client that retries a dead server on an ephemeral port may get this port as its source
# port, and then connects to itself.
_LOWEST: Final = 20_000
_HIGHEST: Final = 32_000
_TRIES: Final = 200
_returned: dict[int, socket.socket | None] = {}
"""Ports returned by `free_port` with their reservations, which last until this process ends.

A server that is still starting does not listen yet, so its port would otherwise look free.
"""


def is_free(port: int) -> bool:
    """Return True if a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a free loopback port that this function has not given to another running process.

    Another program may still take the port before the caller does. On systems other than Linux, ports given to other
    processes are not known.

    Raises:
        OSError: No free port was found.
    """
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)
        if port not in _returned and is_free(port) and _reserve(port):
            return port
    raise OSError(f"No free port was found on {LOOPBACK} between {_LOWEST} and {_HIGHEST}.")


def _reserve(port: int) -> bool:
    """Reserve `port` until this process exits, or return False if another process has reserved it.

    The reservation is a Linux abstract socket. Like a port, its name is unique per network namespace, and it leaves no
    file behind.
    """
    if sys.platform != "linux":
        _returned[port] = None
        return True
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0agent-feedback-port-{port}")
    except OSError:
        reservation.close()
        return False
    _returned[port] = reservation
    return True
