"""Train the reader: python -m training.reader.train --out FILE [--hold FOLD] ..."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from training.reader.network import Embeddings, Network, load_layers
from training.reader.rows import CLASSES, TEMPLATES, templates, turns, written

MESSAGE = (72, 24)
ANSWER = (20, 44)
REQUEST = 24


def ends(pieces: list[int], head: int, tail: int) -> list[int]:
    return pieces if len(pieces) <= head + tail else pieces[:head] + pieces[-tail:]


class Packer:
    def __init__(self, tokenizer: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.start, self.end = (self.tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))

    def pieces(self, text: str) -> list[int]:
        text = text.encode("utf-8", "replace").decode()
        return self.tokenizer.encode(
            text[:1500] if len(text) <= 3000 else text[:1500] + " " + text[-1500:], add_special_tokens=False
        ).ids

    def __call__(self, message: str, answer: str, request: str) -> tuple[list[int], int]:
        first = [self.start, *ends(self.pieces(message), *MESSAGE), self.end]
        rest = [*ends(self.pieces(answer), *ANSWER), self.end, *self.pieces(request)[:REQUEST], self.end]
        return first + rest, len(first)


def batch_of(packed: list[tuple[list[int], int]]) -> tuple[torch.Tensor, ...]:
    length = max(len(p) for p, _ in packed)
    ids = torch.zeros(len(packed), length, dtype=torch.long)
    present, message = torch.zeros(len(packed), length), torch.zeros(len(packed), length)
    segments = torch.zeros(len(packed), length, dtype=torch.long)
    for row, (pieces, first) in enumerate(packed):
        ids[row, : len(pieces)] = torch.tensor(pieces)
        present[row, : len(pieces)] = 1
        message[row, :first] = 1
        segments[row, first : len(pieces)] = 1
    return ids, segments, present, message


def batches(order: list[int], packed, size: int, rng: random.Random) -> list[list[int]]:
    found = []
    for start in range(0, len(order), size * 32):
        chunk = sorted(order[start : start + size * 32], key=lambda i: len(packed[i][0]))
        found += [chunk[i : i + size] for i in range(0, len(chunk), size)]
    rng.shuffle(found)
    return found


def predict(network, embeddings, packed, size=32, bf16=False) -> np.ndarray:
    network.eval()
    out = np.zeros((len(packed), len(CLASSES)), dtype=np.float32)
    order = sorted(range(len(packed)), key=lambda i: len(packed[i][0]))
    with torch.no_grad():
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            ids, segments, present, message = batch_of([packed[i] for i in rows])
            out[rows] = network(embeddings(ids, segments), present, message).float().numpy()
    return out


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--written", type=Path, required=True)
    p.add_argument("--turns", type=Path)
    p.add_argument("--fp32", type=Path, required=True)
    p.add_argument("--int8", type=Path, required=True)
    p.add_argument("--tokenizer", type=Path, required=True)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--hold", type=int)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--rate", type=float, default=1e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--init", type=Path)
    p.add_argument("--again", type=int, help="fold whose rows are all taken, with --replay rows of the others")
    p.add_argument("--replay", type=int)
    p.add_argument("--templates", type=Path)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    rng = random.Random(a.seed)
    rows = [r for r in written(a.written) if r.language == "en"]
    if a.turns:
        rows += [r for r in turns(a.turns) if r.language == "en"]
    if a.templates:
        rows += templates(a.templates)
    packer = Packer(a.tokenizer)
    packed = [packer(r.message, r.answer, r.request) for r in rows]
    train = [i for i, r in enumerate(rows) if r.fold != a.hold]
    held = [i for i, r in enumerate(rows) if r.fold == a.hold]
    print(len(train), len(held), "mean pieces", np.mean([len(p[0]) for p in packed]), flush=True)
    labels = torch.tensor([CLASSES.index(r.label) for r in rows])
    weights = torch.tensor([r.weight for r in rows])
    embeddings, network = Embeddings(a.int8), Network(a.layers)
    load_layers(network, a.fp32)
    if a.init:
        network.load_state_dict(torch.load(a.init))
    head, body = list(network.head.parameters()), list(network.layers.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": body, "lr": a.rate}, {"params": head, "lr": 10 * a.rate}], weight_decay=0.01
    )
    if a.replay is not None:
        train = [i for i in train if rows[i].fold in (a.again, TEMPLATES)] + rng.sample(
            [i for i in train if rows[i].fold not in (a.again, TEMPLATES)], a.replay
        )
    plan = [b for _ in range(a.epochs) for b in batches(rng.sample(train, len(train)), packed, a.size, rng)]
    total = len(plan)
    warm = max(1, total // 12)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, max(0.0, (total - s) / (total - warm)))
    )
    network.train()
    start, seen, losses = time.time(), 0, []
    for step, chosen in enumerate(plan):
        ids, segments, present, message = batch_of([packed[i] for i in chosen])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.bf16):
            logits = network(embeddings(ids, segments), present, message)
        logits = logits.float()
        loss = functional.cross_entropy(logits, labels[chosen], reduction="none", label_smoothing=0.05)
        loss = (loss * weights[chosen]).sum() / weights[chosen].sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        seen += len(chosen)
        if step % 25 == 24:
            print(
                f"{step + 1}/{total} loss {np.mean(losses[-25:]):.3f} {seen / (time.time() - start):.1f} rows/s",
                flush=True,
            )
        if a.steps and step >= a.steps:
            return
    torch.save(network.state_dict(), a.out.with_suffix(".pt"))
    if held:
        logits = predict(network, embeddings, [packed[i] for i in held])
        np.savez(a.out.with_suffix(".npz"), logits=logits, rows=np.array(held))
        print(f"held accuracy {(logits.argmax(1) == labels[held].numpy()).mean():.3f}", flush=True)
    print("done", time.time() - start, flush=True)


if __name__ == "__main__":
    main()
