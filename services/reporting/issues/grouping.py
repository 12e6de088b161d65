"""Vectors of rejected turns and clustering of the turns by topic. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from detector.encoders.embedder import Vectors, unit_rows

SMALLEST: Final = 3
"""Minimum number of turns for a new issue."""
MOST: Final = 5_000
"""Maximum number of turns to cluster at once. The running time grows with the square of this number."""
_DIMENSIONS: Final = 20
_NEIGHBOURS: Final = 2
_SPREAD: Final = 2
_CLOSEST: Final = 0.8
_SAME: Final = 0.85
"""Cosine similarity above which two turns are clustered as one."""
_ANSWER: Final = 0.2
"""Weight of the answer's vector relative to the question's vector."""


@dataclass(frozen=True, slots=True)
class Centre:
    """Centre of a group of turns.

    Attributes:
        vector: Mean vector of the group, normalised to length 1.
        min_similarity: Minimum similarity to the centre at which a turn belongs to the group.
    """

    vector: Vectors
    min_similarity: float


@dataclass(frozen=True, slots=True)
class Groups:
    """Result of a clustering, in which turns are identified by row number.

    Attributes:
        joined: Maps turns to the existing issues they join.
        new: Turns of each new issue.
    """

    joined: Mapping[int, int]
    new: Sequence[Sequence[int]]


def turn_vectors(questions: Vectors, answers: Vectors, complaints: Vectors) -> Vectors:
    """Combine the vectors of each turn's question, answer and complaint into a unit vector.

    A complaint is weighted by its similarity to the question. Otherwise, a common complaint such as "that's wrong"
    would make turns on different topics similar. If the question is unknown, the complaint has full weight. A turn
    without any text gets a zero vector.

    All arrays have the shape (turns, width).
    """
    alike = np.clip((questions * complaints).sum(axis=1, keepdims=True), 0, 1)
    has_question = np.linalg.norm(questions, axis=1, keepdims=True) > 0
    return unit_rows(questions + _ANSWER * answers + np.where(has_question, alike, 1) * complaints)


def centre_of(vectors: Vectors) -> Centre:
    """Return the centre of a group of one or more turns.

    Its minimum similarity is the mean similarity of the turns to the centre minus two standard deviations, but at most
    0.8, so that paraphrases may join a group of near-duplicates.
    """
    mean = unit_rows(vectors.mean(axis=0, keepdims=True))[0]
    near = vectors @ mean
    return Centre(mean, min(_CLOSEST, float(near.mean() - _SPREAD * near.std())))


def nearest(vectors: Vectors, centres: Sequence[Centre]) -> list[int | None]:
    """Return the index of the nearest centre for each turn, or None if no centre is similar enough."""
    if not centres or not len(vectors):
        return [None] * len(vectors)
    near = vectors @ np.stack([centre.vector for centre in centres]).T
    near = np.where(near >= np.array([topic.min_similarity for topic in centres], dtype=np.float32), near, -2)
    best = near.argmax(axis=1)
    return [int(number) if near[row, number] > -2 else None for row, number in enumerate(best)]


def grouped(vectors: Vectors, issues: Sequence[int | None], coherence: float = 0.0) -> Groups:
    """Cluster the turns of an agent, and assign turns without an issue to issues.

    Turns with an issue always stay in it, so that people's merges persist. The other turns of a cluster join
    the cluster's most frequent issue if at least half of the cluster's turns have an issue. Otherwise, they form a new
    issue if there are enough of them and they are coherent enough. A turn that is still unassigned joins the nearest
    new issue, if it is similar enough.

    Args:
        vectors: Vectors of all turns of the agent, at most MOST.
        issues: Current issue of each turn, or None.
        coherence: Minimum mean pairwise similarity of the turns of a new issue.
    """
    joined: dict[int, int] = {}
    new: list[list[int]] = []
    labels = _labels(vectors)
    for label in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == label).tolist()
        waiting = [row for row in members if issues[row] is None]
        counts = Counter(issue for row in members if (issue := issues[row]) is not None)
        if 2 * counts.total() >= len(members):
            issue = min(counts, key=lambda issue_id: (-counts[issue_id], issue_id))
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
    """Return the mean pairwise similarity of two or more turns."""
    count = len(vectors)
    total = float(np.square(vectors.sum(axis=0)).sum())  # of all pairs, including each turn with itself
    return (total - count) / (count * (count - 1))


def _labels(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Return the cluster number of each turn, or -1 if the turn is in no cluster.

    A group of near-duplicates counts as one point, because otherwise every frequent question would form a dense
    cluster. If this point is in no cluster, a group of at least SMALLEST near-duplicates becomes a cluster of its own.
    """
    alike = _alike(vectors)
    labels = _density_labels(vectors[np.unique(alike)])[np.unique(alike, return_inverse=True)[1]]
    frequent = [row for row, count in zip(*np.unique(alike, return_counts=True), strict=True) if count >= SMALLEST]
    for row in frequent:
        if labels[row] < 0:
            labels[alike == row] = labels.max(initial=-1) + 1
    return labels


def _alike(vectors: Vectors) -> npt.NDArray[np.intp]:
    """Group near-duplicates. Returns for each turn the row number of the first turn in its group."""
    first = np.full(len(vectors), -1, dtype=np.intp)
    for row in range(len(vectors)):
        if first[row] < 0:
            first[(first < 0) & (vectors @ vectors[row] >= _SAME)] = row
            first[row] = row
    return first


def _density_labels(vectors: Vectors) -> npt.NDArray[np.intp]:
    if len(vectors) < SMALLEST:
        return np.full(len(vectors), -1, dtype=np.intp)
    # Importing scikit-learn takes a second of processor time, and most runs of the job group no turns.
    from sklearn.cluster import HDBSCAN
    from sklearn.decomposition import PCA

    width = min(_DIMENSIONS, *vectors.shape)
    reduced = unit_rows(PCA(width, random_state=0).fit_transform(vectors).astype(np.float32))
    clusters = HDBSCAN(min_cluster_size=SMALLEST, min_samples=_NEIGHBOURS, allow_single_cluster=False, copy=True)
    labels: npt.NDArray[np.intp] = clusters.fit_predict(reduced)
    return labels


def packed(vector: Vectors) -> bytes:
    """Convert a vector to bytes in half precision, as stored in the database."""
    return vector.astype(np.float16).tobytes()


def unpacked(stored: Sequence[bytes]) -> Vectors:
    """Convert stored vectors of equal width to a matrix with one row per vector."""
    if not stored:
        return np.zeros((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(stored), dtype=np.float16).reshape(len(stored), -1).astype(np.float32)
