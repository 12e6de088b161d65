"""The reader's network in PyTorch: layers of all-MiniLM-L6-v2 over frozen embeddings, and a linear head."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

WIDTH = 384
HEADS = 12
CLASSES = 6


class Layer(nn.Module):
    """Transformer layer of MiniLM."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.first_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.widened = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrowed = nn.Linear(4 * WIDTH, WIDTH)
        self.last_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, length, _ = hidden.shape
        query, key, value = (
            part(hidden).view(rows, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        seen = self.attended(seen.transpose(1, 2).reshape(rows, length, WIDTH))
        hidden = self.first_norm(hidden + self.dropout(seen))
        inner = self.narrowed(functional.gelu(self.widened(hidden)))
        return self.last_norm(hidden + self.dropout(inner))


class Network(nn.Module):
    """Layers and head. The input are embeddings, so that only what is trained is stored."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Linear(2 * WIDTH, CLASSES)
        self.dropout = nn.Dropout(0.1)

    def forward(self, embedded: torch.Tensor, present: torch.Tensor, message: torch.Tensor) -> torch.Tensor:
        """Return the logits of the classes.

        Args:
            embedded: Embeddings of shape (rows, pieces, WIDTH).
            present: 1 for pieces of the text, 0 for padding, of shape (rows, pieces).
            message: 1 for pieces of the message, of the same shape.
        """
        mask = ((1.0 - present) * -1e4)[:, None, None, :]
        hidden = embedded
        for layer in self.layers:
            hidden = layer(hidden, mask)
        mean = (hidden * message[:, :, None]).sum(1) / message.sum(1, keepdim=True)
        return self.head(self.dropout(torch.cat((hidden[:, 0], mean), 1)))


def load_layers(network: Network, model: Path) -> None:
    """Copy the weights of the published model (32-bit, ONNX) into the network's layers."""
    graph = onnx.load(str(model)).graph
    arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    matrices = {
        node.name: arrays[node.input[1]] for node in graph.node if node.op_type == "MatMul" and node.input[1] in arrays
    }
    names = {
        "query": "attention/self/query",
        "key": "attention/self/key",
        "value": "attention/self/value",
        "attended": "attention/output/dense",
        "widened": "intermediate/dense",
        "narrowed": "output/dense",
    }
    norms = {"first_norm": "attention.output.LayerNorm", "last_norm": "output.LayerNorm"}
    with torch.no_grad():
        for number, layer in enumerate(network.layers):
            for name, path in names.items():
                linear = getattr(layer, name)
                linear.weight.copy_(torch.tensor(matrices[f"/encoder/layer.{number}/{path}/MatMul"].T.copy()))
                bias = arrays[f"encoder.layer.{number}.{path.replace('/', '.')}.bias"]
                linear.bias.copy_(torch.tensor(bias.copy()))
            for name, path in norms.items():
                norm = getattr(layer, name)
                norm.weight.copy_(torch.tensor(arrays[f"encoder.layer.{number}.{path}.weight"].copy()))
                norm.bias.copy_(torch.tensor(arrays[f"encoder.layer.{number}.{path}.bias"].copy()))


class Embeddings(nn.Module):
    """Embeddings of the 8-bit model that the detector runs, which stay as published."""

    def __init__(self, model: Path) -> None:
        super().__init__()
        arrays = {item.name: numpy_helper.to_array(item) for item in onnx.load(str(model)).graph.initializer}

        def table(name: str) -> torch.Tensor:
            prefix = f"embeddings.{name}.weight"
            if prefix in arrays:
                return torch.tensor(arrays[prefix].copy())
            numbers = arrays[f"{prefix}_quantized"].astype(np.float32) - float(arrays[f"{prefix}_zero_point"])
            return torch.tensor(numbers * float(arrays[f"{prefix}_scale"]))

        self.register_buffer("words", table("word_embeddings"))
        self.register_buffer("positions", table("position_embeddings"))
        self.register_buffer("segments", table("token_type_embeddings"))
        self.register_buffer("weight", torch.tensor(arrays["embeddings.LayerNorm.weight"].copy()))
        self.register_buffer("bias", torch.tensor(arrays["embeddings.LayerNorm.bias"].copy()))

    @torch.no_grad()
    def forward(self, pieces: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        summed = self.words[pieces] + self.segments[segments] + self.positions[: pieces.shape[1]]
        return functional.layer_norm(summed, (WIDTH,), self.weight, self.bias, 1e-12)
