"""A free port is returned once, since the first caller's server may not listen yet."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from standalone.embedded import ports


def test_a_free_port_is_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_001, 40_001, 40_002])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert [ports.free_port(), ports.free_port()] == [40_001, 40_002]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has abstract socket names")
def test_a_port_is_not_returned_to_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = (
        "import random, sys; from standalone.embedded import ports; ports.is_free = lambda port: True;"
        "random.randint = lambda low, high: 40_001; print(ports.free_port(), flush=True); sys.stdin.read()"
    )
    picked = iter([40_001, 40_002, 40_001])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"40001\n"
        assert ports.free_port() == 40_002
        other.communicate()
    assert ports.free_port() == 40_001, "the reservation ends with its process"
