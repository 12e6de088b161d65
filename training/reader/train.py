"""Train the reader: python -m training.reader.train --out FILE [--hold FOLD] ..."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch.nn import functional

from detector.encoders.exchange import PairPacker
from training.reader.network import Embeddings, Network, load_layers
from training.reader.rows import CLASSES, Row, rows_of

#: A message, its answer and its request as ids of word pieces, and the number of them that are the message's.
Packed = tuple[list[int], int]
SIZE: Final = 32
#: Batches from which rows of similar length are put together, so that little is padded.
WINDOW: Final = 32


def batch_of(packed: Sequence[Packed]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the ids, the segments, and the masks of all pieces and of the message's pieces."""
    length = max(len(pieces) for pieces, _ in packed)
    ids = torch.zeros(len(packed), length, dtype=torch.long)
    segments = torch.zeros(len(packed), length, dtype=torch.long)
    present, message = torch.zeros(len(packed), length), torch.zeros(len(packed), length)
    for number, (pieces, first) in enumerate(packed):
        ids[number, : len(pieces)] = torch.tensor(pieces)
        present[number, : len(pieces)] = 1
        message[number, :first] = 1
        segments[number, first : len(pieces)] = 1
    return ids, segments, present, message


def batches(order: Sequence[int], packed: Sequence[Packed], rng: random.Random) -> list[list[int]]:
    """Divide the rows into batches of similar length, in random order."""
    divided = []
    for start in range(0, len(order), SIZE * WINDOW):
        window = sorted(order[start : start + SIZE * WINDOW], key=lambda number: len(packed[number][0]))
        divided += [window[i : i + SIZE] for i in range(0, len(window), SIZE)]
    rng.shuffle(divided)
    return divided


def predicted(network: Network, embeddings: Embeddings, packed: Sequence[Packed]) -> np.ndarray:
    """Return the logits of the rows, of shape (rows, classes)."""
    network.eval()
    logits = np.zeros((len(packed), len(CLASSES)), dtype=np.float32)
    order = sorted(range(len(packed)), key=lambda number: len(packed[number][0]))
    with torch.no_grad():
        for start in range(0, len(order), SIZE):
            chosen = order[start : start + SIZE]
            ids, segments, present, message = batch_of([packed[number] for number in chosen])
            logits[chosen] = network(embeddings(ids, segments), present, message).float().numpy()
    return logits


def fit(network: Network, embeddings: Embeddings, rows: Sequence[Row], packed: Sequence[Packed], options) -> None:
    """Train the network, and save it after each epoch."""
    rng = random.Random(options.seed)
    labels = torch.tensor([CLASSES.index(row.label) for row in rows])
    weights = torch.tensor([row.weight for row in rows])
    head, body = list(network.head.parameters()), list(network.layers.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": body, "lr": options.rate}, {"params": head, "lr": 10 * options.rate}], weight_decay=0.01
    )
    epochs = [batches(rng.sample(range(len(rows)), len(rows)), packed, rng) for _ in range(options.epochs)]
    total = sum(map(len, epochs))
    warm = max(1, total // 12)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (total - step) / (total - warm)))
    )
    network.train()
    started, step, losses = time.monotonic(), 0, []
    for epoch in epochs:
        for chosen in epoch:
            ids, segments, present, message = batch_of([packed[number] for number in chosen])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = network(embeddings(ids, segments), present, message)
            loss = functional.cross_entropy(logits.float(), labels[chosen], reduction="none", label_smoothing=0.05)
            loss = (loss * weights[chosen]).sum() / weights[chosen].sum()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            losses.append(loss.item())
            if step % 25 == 0:
                spent = time.monotonic() - started
                print(f"{step}/{total} loss {np.mean(losses[-25:]):.3f}, {spent:.0f} s", flush=True)
        torch.save(network.state_dict(), options.out)


def main() -> None:
    """Train on all rows but those of the fold `--hold`, and print the accuracy on that fold."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("written", "turns", "templates", "fp32", "int8", "tokenizer", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--hold", type=int)
    parser.add_argument("--start", type=Path, help="network to train further, instead of the published model")
    parser.add_argument("--all-of", nargs="+", default=[], help="written files that --others does not reduce")
    parser.add_argument("--others", type=int, help="number of other rows, drawn at random")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    rows = rows_of(options.written, options.turns, options.templates)
    taught = [row for row in rows if row.fold != options.hold]
    if options.others is not None:
        others = [row for row in taught if row.group not in options.all_of]
        taught = [row for row in taught if row.group in options.all_of]
        taught += random.Random(options.seed).sample(others, options.others)
    held_out = [row for row in rows if row.fold == options.hold]
    packer = PairPacker(options.tokenizer)
    packed = [packer.pack(row.message, row.answer, row.request) for row in taught]
    print(f"{len(taught)} rows, {np.mean([len(pieces) for pieces, _ in packed]):.0f} pieces; {len(held_out)} held out")
    embeddings, network = Embeddings(options.int8), Network(options.layers)
    if options.start:
        network.load_state_dict(torch.load(options.start, map_location="cpu"))
    else:
        load_layers(network, options.fp32)
    fit(network, embeddings, taught, packed, options)
    if held_out:
        logits = predicted(network, embeddings, [packer.pack(row.message, row.answer, row.request) for row in held_out])
        labels = np.array([CLASSES.index(row.label) for row in held_out])
        print(f"accuracy on the rows held out: {(logits.argmax(1) == labels).mean():.3f}")


if __name__ == "__main__":
    main()
