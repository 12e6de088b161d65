"""Export the mean of trained networks as an 8-bit ONNX model, which runs on top of the published embeddings.

    python -m training.reader.export TARGET NETWORK... [--sharper FACTOR]

A target that ends with .pt gets the mean as a network for further training.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from training.reader.network import HEADS, WIDTH


class Graph:
    """Builder of an ONNX graph."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights, self.nodes, self.constants, self.count = weights, [], {}, 0

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        self.count += 1
        name = f"t{self.count}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def linear(self, hidden: str, name: str) -> str:
        matrix = self.constant(self.weights[f"{name}.weight"].T.copy())
        return self.add("Add", self.add("MatMul", hidden, matrix), self.constant(self.weights[f"{name}.bias"]))

    def norm(self, hidden: str, name: str) -> str:
        scale, bias = (self.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.add("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=1e-12)

    def heads(self, hidden: str, order: list[int]) -> str:
        shape = self.constant(np.array([0, 0, HEADS, WIDTH // HEADS], dtype=np.int64))
        return self.add("Transpose", self.add("Reshape", hidden, shape), perm=order)

    def layer(self, hidden: str, name: str) -> str:
        query = self.heads(self.linear(hidden, f"{name}.query"), [0, 2, 1, 3])
        key = self.heads(self.linear(hidden, f"{name}.key"), [0, 2, 3, 1])
        value = self.heads(self.linear(hidden, f"{name}.value"), [0, 2, 1, 3])
        scale = self.constant(np.array((WIDTH // HEADS) ** -0.5, dtype=np.float32))
        shares = self.add("Softmax", self.add("Mul", self.add("MatMul", query, key), scale), axis=-1)
        seen = self.add("Transpose", self.add("MatMul", shares, value), perm=[0, 2, 1, 3])
        seen = self.add("Reshape", seen, self.constant(np.array([0, 0, WIDTH], dtype=np.int64)))
        hidden = self.norm(self.add("Add", hidden, self.linear(seen, f"{name}.attended")), f"{name}.first_norm")
        inner = self.linear(self.add("Gelu", self.linear(hidden, f"{name}.widened")), f"{name}.narrowed")
        return self.norm(self.add("Add", hidden, inner), f"{name}.last_norm")


def exported(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Return the network as a model with 32-bit weights. `share` says how much each piece counts in the mean."""
    graph = Graph(weights)
    hidden = "embedded"
    for number in range(len({name.split(".")[1] for name in weights if name.startswith("layers.")})):
        hidden = graph.layer(hidden, f"layers.{number}")
    first = graph.add("Gather", hidden, graph.constant(np.array(0, dtype=np.int64)), axis=1)
    axes = graph.constant(np.array([1], dtype=np.int64))
    mean = graph.add("ReduceSum", graph.add("Mul", hidden, "share"), axes, keepdims=0)
    logits = graph.linear(graph.add("Concat", first, mean, axis=1), "head")
    graph.nodes.append(helper.make_node("Identity", [logits], ["logits"]))
    inputs = [
        helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["rows", "pieces", WIDTH]),
        helper.make_tensor_value_info("share", TensorProto.FLOAT, ["rows", "pieces", 1]),
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", 6])]
    constants = [numpy_helper.from_array(value, name) for name, value in graph.constants.items()]
    whole_graph = helper.make_graph(graph.nodes, "reader", inputs, outputs, constants)
    return helper.make_model(whole_graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def mean_of(paths: Sequence[Path], sharper: float) -> dict[str, torch.Tensor]:
    """Return the mean of the weights of networks, with the head's multiplied by `sharper`."""
    networks = [torch.load(path, map_location="cpu") for path in paths]
    weights = {name: sum(network[name] for network in networks) / len(networks) for name in networks[0]}
    return weights | {name: sharper * weights[name] for name in ("head.weight", "head.bias")}


def main() -> None:
    """Write the mean of the networks `sources` as `target`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--sharper", type=float, default=1.0, help="factor of the logits")
    options = parser.parse_args()
    weights = mean_of(options.sources, options.sharper)
    if options.target.suffix == ".pt":
        torch.save(weights, options.target)
        return
    model = exported({name: weight.numpy() for name, weight in weights.items()})
    onnx.checker.check_model(model)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "reader.onnx"
        onnx.save(model, str(plain))
        quantize_dynamic(plain, options.target, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"])


if __name__ == "__main__":
    main()
