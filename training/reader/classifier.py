"""Fit the word layer and the classifier: python -m training.reader.classifier READER FOLD WRITTEN TURNS TEMPLATES

READER is the exported reader of a network that was trained without FOLD. The classifier is fitted on the rows of that
fold, so that it learns how far the reader and the word layer can be trusted with other writers and owners.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from detector import classifier, features, word_layer
from detector.addressing import Exchange
from detector.encoders.embedder import WordLlamaEmbedder
from detector.encoders.exchange import CLASSES, ExchangeReader, Logits
from detector.encoders.minilm_files import fetched
from detector.evaluation.rows import neighbourhood
from detector.evidence import Evidence, evidence_of
from detector.text import prepare
from training.reader.rows import GENERATED, TURN, UNSURE, Row, displaced, templates, turns, written

#: Weights of turns.
REAL: Final = (TURN, TURN * UNSURE)
#: Strength of the data against the pull of the weights to zero, for the classifier and for the word layer.
FIT: Final = 0.02
FIT_WORDS: Final = 0.2
#: Minimum number of rows with an n-gram, and minimum weight in steps of an n-gram that is kept.
ROWS: Final = 3
LEAST: Final = 4
#: Number of requests after an answer on another subject.
MOVED: Final = 1600
#: Weight of exchanges in natural shares, and of all other exchanges, 42 % of which are rejections.
NATURAL: Final = 1.5
OTHER: Final = 0.2


def weight_of(row: Row) -> float:
    """Return the weight of a row: turns weigh most, because their shares and texts are those of real talk."""
    if row.weight in REAL:
        return row.weight
    if row.group == "natural":
        return NATURAL
    return OTHER if row.weight == GENERATED else OTHER * row.weight


def logistic(inputs: Any, rows: Sequence[Row], strength: float) -> LogisticRegression:
    """Fit a logistic regression of the rows' classes, all of which must occur."""
    model = LogisticRegression(C=strength, max_iter=1000)
    return model.fit(inputs, [CLASSES.index(row.label) for row in rows], sample_weight=[weight_of(row) for row in rows])


def word_weights(rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the word layer on rows. Its n-grams are those of written exchanges: the turns are other people's text."""
    texts = [word_layer.ngrams(prepare(row.message), prepare(row.answer)) for row in rows]
    counter = CountVectorizer(analyzer=sorted, binary=True, min_df=ROWS)
    counter.fit(text for text, row in zip(texts, rows, strict=True) if row.weight not in REAL)
    model = logistic(counter.transform(texts), rows, FIT_WORDS)
    names = counter.get_feature_names_out().tolist()
    steps = np.rint(model.coef_.T / word_layer.STEP).astype(int)
    kept = {name: row.tolist() for name, row in zip(names, steps, strict=True) if abs(row).max() >= LEAST}
    return {"classes": CLASSES, "bias": np.round(model.intercept_, 3).tolist(), "weights": kept}


def fitted(names: Sequence[str], inputs: np.ndarray, rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the classifier on the first of the features, as many as there are names."""
    measured = inputs[:, : len(names)]
    centre, spread = measured.mean(axis=0), measured.std(axis=0) + 1e-3
    model = logistic((measured - centre) / spread, rows, FIT)
    weights = model.coef_.T / spread[:, None]
    bias = np.round(model.intercept_ - centre @ weights, 4).tolist()
    return {"bias": bias, "weights": dict(zip(names, np.round(weights, 4).tolist(), strict=True))}


def observed(rows: Sequence[Row], reader: ExchangeReader) -> list[tuple[Evidence, Logits]]:
    """Return the evidence on each row and the output of the reader."""
    embedder = WordLlamaEmbedder()
    exchanges = [
        {"previous_user": row.request, "previous_assistant": row.answer, "message": row.message} for row in rows
    ]
    evidence = [evidence_of([Exchange.of(neighbourhood(exchange))], embedder)[0] for exchange in exchanges]
    return [
        (facts, reader.read(row.message, row.answer, row.request)) for facts, row in zip(evidence, rows, strict=True)
    ]


def write(path: Path, content: dict[str, Any]) -> None:
    """Write weights as JSON with one n-gram or feature per line."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")


def main(reader: Path, fold: int, folder: Path, turns_file: Path, templates_file: Path) -> None:
    """Fit the word layer and the classifier, and write their weights."""
    sources = (*written(folder), *turns(turns_file), *templates(templates_file))
    english = [row for row in sources if row.language == "en"]
    rows = [row for row in english if row.fold == fold]
    rows += displaced(rows, MOVED)
    write(word_layer.WEIGHTS, word_weights([row for row in english if row.fold != fold]))
    words = word_layer.WordLayer.load()
    facts = observed(rows, ExchangeReader(fetched(print), reader))
    inputs = np.array([features.vector(evidence, words, logits) for evidence, logits in facts])
    modes = {"reader": features.NAMES, "words": features.WORDS}
    content = {mode: fitted(names, inputs, rows) for mode, names in modes.items()}
    write(classifier.WEIGHTS, {"classes": CLASSES, **content})
    write(word_layer.WEIGHTS, word_weights(english))
    print(f"{len(rows)} rows, {len(features.NAMES)} features")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:]))
