"""Ports on the loopback address."""

import random
import socket
from typing import Final

LOOPBACK: Final = "127.0.0.1"

# Below the ports that systems give to outgoing connections. A client that keeps trying to reach a dead server at one
# of those may be given that very port, and is then connected to itself.
_LOWEST: Final = 20_000
_HIGHEST: Final = 32_000
_TRIES: Final = 200


def is_free(port: int) -> bool:
    """Say whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A loopback port that nothing listens on; another program may take it before the caller does.

    Raises:
        OSError: none was found.
    """
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)
        if is_free(port):
            return port
    raise OSError(f"No free port was found on {LOOPBACK} between {_LOWEST} and {_HIGHEST}.")
