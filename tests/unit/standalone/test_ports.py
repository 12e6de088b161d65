"""A free port is returned once, since the first caller's server may not listen yet."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from types import SimpleNamespace

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


def test_a_port_is_below_those_that_the_system_gives_to_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[tuple[int, int]] = []
    real = random.randint

    def picked(low: int, high: int) -> int:
        ranges.append((low, high))
        return real(low, high)

    monkeypatch.setattr(random, "randint", picked)
    assert ports.is_free(ports.free_port())
    assert set(ranges) == {(20_000, 32_000)}


def test_a_port_with_a_server_is_not_free_and_one_of_a_closed_connection_is() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = ports.free_port()
        server.bind(("127.0.0.1", port))
        server.listen()
        assert not ports.is_free(port)
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # this end waits for late packets
        client.close()
    assert ports.is_free(port)


def test_a_port_that_is_taken_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_011, 40_012])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: port != 40_011)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert ports.free_port() == 40_012


def test_without_a_free_port_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda port: False)
    with pytest.raises(OSError, match=r"^No free port was found on 127\.0\.0\.1 between 20000 and 32000\.$"):
        ports.free_port()


def test_elsewhere_than_on_linux_a_port_is_returned_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([40_021, 40_021, 40_022])
    monkeypatch.setattr(ports, "_returned", {})
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(ports, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert [ports.free_port(), ports.free_port()] == [40_021, 40_022]
