"""Extract the part of an ONNX model that computes one tensor, from the model's inputs or from another tensor.

ONNX Runtime always runs all nodes of a model, so a smaller model saves time. A model file is a protocol buffer, and
this module copies the bytes of the required parts unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

# Field numbers in onnx.proto. A field's key also has its wire type.
_GRAPH: Final = 7
_NODE, _INITIALIZER, _INPUT, _OUTPUT, _VALUE_INFO = 1, 5, 11, 12, 13
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_VALUE_NAME, _VALUE_TYPE = 1, 2
#: Number of the field with the name, for elements that are copied only if their name is needed.
_NAMED: Final = {_INITIALIZER: 8, _INPUT: _VALUE_NAME}
#: TypeProto: a tensor (field 1) whose elements (field 1) are 32-bit floats (1), of any shape.
_FLOATS: Final = bytes((1 << 3 | 2, 2, 1 << 3, 1))
_NUMBER, _LENGTH = 0, 2


def part(model: bytes, output: str, start: str | None = None) -> bytes:
    """Return a model that computes only the tensor `output`.

    Args:
        model: The complete ONNX model.
        output: Name of the tensor to compute.
        start: Name of a float tensor that becomes an input of the new model. Other inputs of `model` are kept if
            `output` depends on them.

    Raises:
        ValueError: `model` is not an ONNX model, or no node computes `output`.
    """
    return b"".join(
        _field(_GRAPH, _part_of(content, output, start)) if number == _GRAPH else bytes(raw)
        for number, raw, content in _fields(memoryview(model))
    )


def _part_of(graph: memoryview, output: str, start: str | None) -> bytes:
    fields = list(_fields(graph))
    makers = {
        name: index
        for index, (number, _, content) in enumerate(fields)
        if number == _NODE
        for name in _names(content, _NODE_OUTPUT)
    }
    if output not in makers:
        raise ValueError(f"nothing in the model computes {output!r}")
    needed, nodes, waiting = set[str](), set[int](), [output]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        if name != start and name in makers:
            nodes.add(makers[name])
            waiting += _names(fields[makers[name]][2], _NODE_INPUT)
    kept = [_field(_OUTPUT, _field(_VALUE_NAME, output.encode()))]
    if start is not None:
        kept.append(_field(_INPUT, _field(_VALUE_NAME, start.encode()) + _field(_VALUE_TYPE, _FLOATS)))
    for index, (number, raw, content) in enumerate(fields):
        if number == _NODE:
            needed_field = index in nodes
        elif number in _NAMED:
            needed_field = not needed.isdisjoint(_names(content, _NAMED[number]))
        else:
            needed_field = number not in (_OUTPUT, _VALUE_INFO)
        if needed_field:
            kept.append(bytes(raw))
    return b"".join(kept)


def _names(message: memoryview, wanted: int) -> list[str]:
    return [bytes(content).decode() for number, _, content in _fields(message) if number == wanted]


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yield the number, the raw bytes and the content of each field in a protocol buffer message.

    Raises:
        ValueError: The message is malformed.
    """
    position = 0
    while position < len(message):
        first = position
        key, position = _number(message, position)
        if key & 7 == _NUMBER:
            content = position
            _, position = _number(message, position)
        elif key & 7 == _LENGTH:
            length, content = _number(message, position)
            position = content + length
        else:
            raise ValueError("not an ONNX model")
        if position > len(message):
            raise ValueError("not an ONNX model")
        yield key >> 3, message[first:position], message[content:position]


def _number(message: memoryview, position: int) -> tuple[int, int]:
    """Decode the variable-length integer (varint) at `position`.

    Returns:
        The value and the position after it.

    Raises:
        ValueError: The message ends within the integer.
    """
    value = shift = 0
    while position < len(message):
        group = message[position]
        value |= (group & 127) << shift
        shift += 7
        position += 1
        if group < 128:
            return value, position
    raise ValueError("not an ONNX model")


def _field(number: int, content: bytes) -> bytes:
    return bytes(_groups((number << 3 | _LENGTH, len(content)))) + content


def _groups(numbers: Iterable[int]) -> Iterator[int]:
    for value in numbers:
        while value > 127:
            yield value & 127 | 128
            value >>= 7
        yield value
