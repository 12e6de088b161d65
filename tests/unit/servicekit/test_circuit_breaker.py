"""Circuit breaker: opening after repeated failures, and retrying."""

from __future__ import annotations

from servicekit.circuit_breaker import CircuitBreaker


def test_failures_in_a_row_open_it_and_others_do_not() -> None:
    circuit = CircuitBreaker(3, 30)
    for _ in range(5):
        circuit.failed(0)
        circuit.failed(0)
        circuit.succeeded()
    assert circuit.lets_through(0)
    for _ in range(3):
        assert circuit.lets_through(0)
        circuit.failed(0)
    assert not circuit.lets_through(29.9)


def test_while_open_one_at_a_time_tries_until_one_succeeds() -> None:
    circuit = CircuitBreaker(1, 30)
    circuit.failed(100)
    assert [circuit.lets_through(130) for _ in range(3)] == [True, False, False]
    circuit.failed(133)
    assert not circuit.lets_through(160)
    assert circuit.lets_through(163)
    circuit.succeeded()
    assert [circuit.lets_through(163) for _ in range(3)] == [True, True, True]


def test_a_try_without_a_result_is_followed_by_another() -> None:
    circuit = CircuitBreaker(1, 30)
    circuit.failed(0)
    assert circuit.lets_through(30)
    assert not circuit.lets_through(59)
    assert circuit.lets_through(60)
