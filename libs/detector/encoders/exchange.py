"""The reader: a network that reads a message together with the answer and the request before it.

It consists of layers of all-MiniLM-L6-v2 that were trained on exchanges (training/README.md), and reads the embeddings
of the published model, so that only the trained layers are shipped. ONNX Runtime runs it on a single thread.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from detector.encoders.embedder import encodable
from detector.encoders.minilm_files import ModelFiles
from detector.encoders.onnx_part import part

#: Classes of messages, in the order of the reader's outputs.
CLASSES: Final = ("explicit", "rephrased", "abandonment", "approval", "continuation", "none")
WEIGHTS: Final = Path(__file__).parent.parent / "weights" / "reader.onnx"
#: Numbers of word pieces that are read at the beginning and the end of the message, the answer and the request.
MESSAGE: Final = (72, 24)
ANSWER: Final = (20, 44)
REQUEST: Final = (24, 0)
#: Number of characters that are tokenised at the beginning and at the end of a text.
SHOWN: Final = 1500

_EMBEDDED: Final = "/embeddings/LayerNorm/Add_1_output_0"
Logits = npt.NDArray[np.float32]


class PairPacker:
    """Converter of a message, its answer and its request to the reader's input."""

    def __init__(self, tokenizer: Path) -> None:
        tokenizers: Any = import_module("tokenizers")
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._start, self._end = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))

    def pack(self, message: str, answer: str, request: str) -> tuple[list[int], int]:
        """Return the ids of the word pieces, and the number of leading ids that belong to the message."""
        first = [self._start, *self._ends(message, MESSAGE), self._end]
        rest = [*self._ends(answer, ANSWER), self._end, *self._ends(request, REQUEST), self._end]
        return first + rest, len(first)

    def _ends(self, text: str, kept: tuple[int, int]) -> list[int]:
        if len(text) > 2 * SHOWN:
            text = f"{text[:SHOWN]} {text[-SHOWN:]}"
        pieces: list[int] = self._tokenizer.encode(encodable(text), add_special_tokens=False).ids
        head, tail = kept
        return pieces if len(pieces) <= head + tail else pieces[:head] + pieces[len(pieces) - tail :]


class ExchangeReader:
    """Reader of exchanges. It takes 40 MB of memory.

    Raises:
        ImportError: The package onnxruntime or tokenizers is missing.
    """

    name = "all-minilm-l6-v2-exchange"

    def __init__(self, files: ModelFiles, weights: Path = WEIGHTS) -> None:
        self._packer = PairPacker(files.tokenizer)
        with NamedTemporaryFile(suffix=".onnx") as embeddings:
            embeddings.write(part(files.model.read_bytes(), _EMBEDDED))
            embeddings.flush()
            self._embeddings: Any = session(Path(embeddings.name))
        self._layers: Any = session(weights)

    def read(self, message: str, answer: str, request: str) -> Logits:
        """Return the logits of the `CLASSES` for a message."""
        ids, length = self._packer.pack(message, answer, request)
        pieces = np.array([ids], dtype=np.int64)
        segments = np.zeros_like(pieces)
        segments[0, length:] = 1
        fed = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": segments}
        wanted = {argument.name for argument in self._embeddings.get_inputs()}
        [embedded] = self._embeddings.run(None, {name: value for name, value in fed.items() if name in wanted})
        share = np.zeros((1, len(ids), 1), dtype=np.float32)
        share[0, :length] = 1 / length
        [logits] = self._layers.run(None, {"embedded": embedded, "share": share})
        read: Logits = logits[0]
        return read


def session(model: Path) -> Any:
    """Return a session of ONNX Runtime that runs a model on a single thread.

    The model is a file, because a session keeps a copy of a model that it gets as bytes.
    """
    onnx: Any = import_module("onnxruntime")
    options = onnx.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # otherwise it keeps the memory of the longest text
    return onnx.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
