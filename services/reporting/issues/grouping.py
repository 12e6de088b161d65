"""Vectors of rejected turns, and their grouping by topic. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import PCA

from detector.encoders.embedder import Vectors, unit_rows

SMALLEST: Final = 3
"""Minimum number of turns of a new issue."""
MOST: Final = 5_000
"""Maximum number of turns to cluster at once, because the run time grows with the square of this number."""
_DIMENSIONS: Final = 20
_NEIGHBOURS: Final = 2
_SPREAD: Final = 2
_CLOSEST: Final = 0.8
_SAME: Final = 0.85
"""Minimum cosine similarity at which clustering treats two turns as one."""
_ANSWER: Final = 0.2
"""Weight of the answer's vector, relative to the question's vector."""


@dataclass(frozen=True, slots=True)
class Centre:
    """Centre of a group: its mean vector, of length 1, and the minimum similarity of its members."""

    vector: Vectors
    radius: float


@dataclass(frozen=True, slots=True)
class Groups:
    """Result of a clustering. `joined` maps turns to existing issues; `new` has the turns of each new issue.

    Turns are row numbers.
    """

    joined: Mapping[int, int]
    new: Sequence[Sequence[int]]


def turn_vectors(questions: Vectors, answers: Vectors, complaints: Vectors) -> Vectors:
    """Return one vector of length 1 for each turn, from the vectors of its three texts, each of shape (turns, width).

    The weight of a complaint is its similarity to the question. Otherwise, turns on different topics would be similar
    just because their complaints are ("that's wrong"). If the question is unknown, only the complaint counts. A turn
    without any text gets a zero vector.
    """
    alike = np.clip((questions * complaints).sum(axis=1, keepdims=True), 0, 1)
    asked = np.linalg.norm(questions, axis=1, keepdims=True) > 0
    return unit_rows(questions + _ANSWER * answers + np.where(asked, alike, 1) * complaints)


def centre_of(vectors: Vectors) -> Centre:
    """Return the centre of a group of at least one turn.

    Its radius is two standard deviations below the mean similarity of the turns, at most 0.8. The limit of 0.8 lets
    paraphrases join a group of almost equal turns.
    """
    mean = unit_rows(vectors.mean(axis=0, keepdims=True))[0]
    near = vectors @ mean
    return Centre(mean, min(_CLOSEST, float(near.mean() - _SPREAD * near.std())))


def nearest(vectors: Vectors, centres: Sequence[Centre]) -> list[int | None]:
    """Return the index of the nearest centre for each turn, or None if the turn is outside of all radii."""
    if not centres or not len(vectors):
        return [None] * len(vectors)
    near = vectors @ np.stack([one.vector for one in centres]).T
    near = np.where(near >= np.array([one.radius for one in centres], dtype=np.float32), near, -2)
    best = near.argmax(axis=1)
    return [int(number) if near[row, number] > -2 else None for row, number in enumerate(best)]


def grouped(vectors: Vectors, issues: Sequence[int | None], coherence: float = 0.0) -> Groups:
    """Cluster all turns of an agent, at most MOST, and assign turns without an issue.

    `issues` has the issue of each turn, or None. A turn never leaves its issue, so merges and splits by people persist.
    If at least half of a cluster's turns have an issue, the other turns join the most frequent issue. Otherwise they
    become a new issue if their mean pairwise similarity is at least `coherence`. A turn outside of all clusters joins a
    new issue if it is within the issue's radius; otherwise it stays without an issue.
    """
    joined: dict[int, int] = {}
    new: list[list[int]] = []
    labels = _labels(vectors)
    for label in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == label).tolist()
        waiting = [row for row in members if issues[row] is None]
        known = Counter(issue for row in members if (issue := issues[row]) is not None)
        if 2 * known.total() >= len(members):
            issue = min(known, key=lambda one: (-known[one], one))
            joined.update(dict.fromkeys(waiting, issue))
        elif len(waiting) >= SMALLEST and _coherence(vectors[waiting]) >= coherence:
            new.append(waiting)
    placed = {row for group in new for row in group} | joined.keys()
    rest = [row for row, issue in enumerate(issues) if issue is None and row not in placed]
    for row, number in zip(rest, nearest(vectors[rest], [centre_of(vectors[group]) for group in new]), strict=True):
        if number is not None:
            new[number].append(row)
    return Groups(joined, new)


def _coherence(vectors: Vectors) -> float:
    """Return the mean pairwise similarity of the turns of a group, at least two."""
    count = len(vectors)
    total = float(np.square(vectors.sum(axis=0)).sum())  # of all pairs, including each turn with itself
    return (total - count) / (count * (count - 1))


def _labels(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Return the cluster number of each turn, or -1 for none.

    Almost equal turns count as one point; otherwise each frequent question would be a dense cluster. If SMALLEST or
    more almost equal turns are in no cluster, they become a cluster.
    """
    alike = _alike(vectors)
    labels = _density_labels(vectors[np.unique(alike)])[np.unique(alike, return_inverse=True)[1]]
    frequent = [row for row, count in zip(*np.unique(alike, return_counts=True), strict=True) if count >= SMALLEST]
    for row in frequent:
        if labels[row] < 0:
            labels[alike == row] = labels.max(initial=-1) + 1
    return labels


def _alike(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Return, for each turn, the row of the first almost equal turn, which may be the turn itself."""
    first = np.full(len(vectors), -1, dtype=np.intp)
    for row in range(len(vectors)):
        if first[row] < 0:
            first[(first < 0) & (vectors @ vectors[row] >= _SAME)] = row
            first[row] = row
    return first


def _density_labels(vectors: Vectors) -> npt.NDArray[np.intp]:
    if len(vectors) < SMALLEST:
        return np.full(len(vectors), -1, dtype=np.intp)
    width = min(_DIMENSIONS, *vectors.shape)
    reduced = unit_rows(PCA(width, random_state=0).fit_transform(vectors).astype(np.float32))
    clusters = HDBSCAN(min_cluster_size=SMALLEST, min_samples=_NEIGHBOURS, allow_single_cluster=False, copy=True)
    labels: npt.NDArray[np.intp] = clusters.fit_predict(reduced)
    return labels


def packed(vector: Vectors) -> bytes:
    """Return a vector as bytes in half precision, the format of the tables."""
    return vector.astype(np.float16).tobytes()


def unpacked(stored: Sequence[bytes]) -> Vectors:
    """Return stored vectors of the same width as a matrix with one row per vector."""
    if not stored:
        return np.zeros((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(stored), dtype=np.float16).reshape(len(stored), -1).astype(np.float32)
