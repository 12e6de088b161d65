"""A free port is returned once, since the first caller's server may not listen yet."""

from __future__ import annotations

import random

import pytest

from standalone.embedded import ports


def test_a_free_port_is_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    picked = iter([20_001, 20_001, 20_002])
    monkeypatch.setattr(ports, "_returned", set())
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(random, "randint", lambda low, high: next(picked))
    assert [ports.free_port(), ports.free_port()] == [20_001, 20_002]
