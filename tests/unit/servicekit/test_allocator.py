"""Threads share free memory."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, threading
from servicekit.allocator import share_one_arena
if {shared}:
    share_one_arena()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
places = [libc.malloc(1000)]
thread = threading.Thread(target=lambda: places.append(libc.malloc(1000)))
thread.start()
thread.join()
print(abs(places[0] - places[1]) < 1 << 30)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
@pytest.mark.parametrize("shared", [True, False])
def test_a_thread_takes_memory_from_the_one_arena(shared: bool) -> None:
    said = subprocess.run([sys.executable, "-c", _PROGRAM.format(shared=shared)], capture_output=True, text=True)
    assert said.stdout.strip() == str(shared), said.stderr
