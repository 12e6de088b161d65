"""Ports on the loopback address."""

import random
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"

# Below the ports that systems use for outgoing connections. A client that retries a dead server on one of those may
# get that very port as its own, and then connects to itself.
_LOWEST: Final = 20_000
_HIGHEST: Final = 32_000
_TRIES: Final = 200
_returned: set[int] = set()
"""Ports that this process has returned. A server that is starting does not listen yet, so its port still looks free."""


def is_free(port: int) -> bool:
    """Return True if a server can listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return an unused loopback port, each only once. Another program may take it before the caller does.

    Raises:
        OSError: no port was found.
    """
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)
        if port not in _returned and is_free(port):
            _returned.add(port)
            return port
    raise OSError(f"No free port was found on {LOOPBACK} between {_LOWEST} and {_HIGHEST}.")
