"""Ctrl-C during the imports of a program, and afterwards."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from servicekit.interrupts import end_at_once, raise_again


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def own(*_: Any) -> None: ...


@pytest.mark.parametrize(
    ("before", "meanwhile", "after"),
    [
        (signal.default_int_handler, signal.SIG_DFL, signal.default_int_handler),
        (signal.SIG_IGN, signal.SIG_IGN, signal.SIG_IGN),  # as a shell starts a program in the background
        (own, own, own),
    ],
)
def test_the_imports_end_at_once_unless_somebody_else_decided(before: Any, meanwhile: Any, after: Any) -> None:
    signal.signal(signal.SIGINT, before)
    end_at_once()
    assert signal.getsignal(signal.SIGINT) == meanwhile
    raise_again()
    assert signal.getsignal(signal.SIGINT) == after
