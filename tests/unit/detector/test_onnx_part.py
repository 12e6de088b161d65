"""Parts of an ONNX model: together they compute the same as the whole model, and contain nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from detector.encoders.onnx_part import part

onnxruntime: Any = pytest.importorskip("onnxruntime")


def field(number: int, content: bytes | str | int) -> bytes:
    """Return a field of a protocol buffer shorter than 128 bytes."""
    if isinstance(content, int):
        return bytes((number << 3, content))
    content = content.encode() if isinstance(content, str) else content
    return bytes((number << 3 | 2, len(content))) + content


def value(name: str) -> bytes:
    """Return a tensor of two floats."""
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))))


def tensor(name: str, numbers: list[float]) -> bytes:
    return field(1, len(numbers)) + field(2, 1) + field(8, name) + field(9, np.array(numbers, "<f4").tobytes())


def node(kind: str, left: str, right: str, made: str) -> bytes:
    return field(1, left) + field(1, right) + field(2, made) + field(4, kind)


def graph(*fields: bytes) -> bytes:
    """Return a model with the inputs a and b, the constants two and ten, and these fields."""
    inputs = field(11, value("a")) + field(11, value("b"))
    constants = field(5, tensor("two", [2.0, 2.0])) + field(5, tensor("ten", [10.0, 10.0]))
    content = b"".join(fields) + field(2, "g") + constants + inputs
    size = bytes((len(content) & 127 | 128, len(content) >> 7))
    return field(1, 8) + bytes((7 << 3 | 2,)) + size + content + field(8, field(2, 13))


#: middle = a + two; last = middle * ten + b
MODEL = graph(
    field(1, node("Add", "a", "two", "middle")),
    field(1, node("Mul", "middle", "ten", "large")),
    field(1, node("Add", "large", "b", "last")),
    field(12, value("last")),
)


def run(model: bytes, **inputs: list[float]) -> list[float]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert {one.name for one in session.get_inputs()} == set(inputs)
    [found] = session.run(None, {name: np.array(row, np.float32) for name, row in inputs.items()})
    return list(found.tolist())


def test_the_parts_compute_what_the_whole_does() -> None:
    assert run(MODEL, a=[1, 2], b=[5, 6]) == [35.0, 46.0]
    first, rest = part(MODEL, "middle"), part(MODEL, "last", start="middle")
    assert run(first, a=[1, 2]) == [3.0, 4.0]
    assert run(rest, middle=[3, 4], b=[5, 6]) == [35.0, 46.0]
    assert b"ten" not in first
    assert b"two" not in rest


def test_what_no_node_computes_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing in the model computes 'none'"):
        part(MODEL, "none")


@pytest.mark.parametrize("broken", [MODEL[:-1], b"\xff", b"\x3d\x00\x00\x00\x00", bytes((7 << 3 | 2, 3, 10, 200, 1))])
def test_what_is_no_model_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="not an ONNX model"):
        part(broken, "last")
