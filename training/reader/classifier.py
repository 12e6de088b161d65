"""Fit the classifier: python -m training.reader.classifier READER FOLD WRITTEN TURNS TEMPLATES

READER is the exported reader of a network that was trained without FOLD. The classifier is fitted on the rows of that
fold, so that it learns how far the reader can be trusted with other writers and owners.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from sklearn.linear_model import LogisticRegression

from detector import features
from detector.addressing import Exchange
from detector.classifier import WEIGHTS
from detector.encoders.embedder import WordLlamaEmbedder
from detector.encoders.exchange import CLASSES, ExchangeReader
from detector.encoders.minilm_files import fetched
from detector.evaluation.rows import neighbourhood
from detector.evidence import evidence_of
from training.reader.rows import GENERATED, TURN, UNSURE, Row, templates, turns, written

#: Strength of the data against the pull of the weights to zero.
FIT: Final = 0.015
#: Weight of exchanges in natural shares, and of all other exchanges, 42 % of which are rejections.
NATURAL: Final = 1.5
OTHER: Final = 0.3


def weight_of(row: Row) -> float:
    """Return the weight of a row: turns weigh most, because their shares and texts are those of real talk."""
    if row.weight in (TURN, TURN * UNSURE):
        return row.weight
    if row.group == "natural":
        return NATURAL
    return OTHER if row.weight == GENERATED else OTHER * row.weight


def inputs(rows: Sequence[Row], reader: ExchangeReader) -> Iterator[features.Vector]:
    """Yield the features of each row."""
    embedder = WordLlamaEmbedder()
    for row in rows:
        exchange = {"previous_user": row.request, "previous_assistant": row.answer, "message": row.message}
        [evidence] = evidence_of([Exchange.of(neighbourhood(exchange))], embedder)
        logits = reader.read(row.message, row.answer, row.request)
        yield features.vector(evidence, logits)


def main(reader: Path, fold: int, folder: Path, turns_file: Path, templates_file: Path) -> None:
    """Fit the classifier and write its weights, with four digits."""
    sources = (*written(folder), *turns(turns_file), *templates(templates_file))
    rows = [row for row in sources if row.fold == fold and row.language == "en"]
    measured = np.array(list(inputs(rows, ExchangeReader(fetched(print), reader))))
    centre, spread = measured.mean(axis=0), measured.std(axis=0) + 1e-3
    model = LogisticRegression(C=FIT, max_iter=1000)
    classes = [CLASSES.index(row.label) for row in rows]
    model.fit((measured - centre) / spread, classes, sample_weight=[weight_of(row) for row in rows])
    weights = model.coef_.T / spread[:, None]
    bias = model.intercept_ - centre @ weights
    content = {
        "classes": CLASSES,
        "bias": np.round(bias, 4).tolist(),
        "weights": dict(zip(features.NAMES, np.round(weights, 4).tolist(), strict=True)),
    }
    WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")
    print(f"{len(rows)} rows, {len(features.NAMES)} features")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:]))
