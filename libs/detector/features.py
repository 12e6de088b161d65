"""Input features of the learned layer: matched patterns, single words, and relations between the texts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from detector.evidence import Evidence
from detector.patterns import Kind
from detector.text import SAID

_WORDS: Final = """
i you it that this those these he she they we me my your their its one ones there here what which who whom
when where why how is are was were be been do does did done have has had can could will would should may might
must need want wanted meant mean said asked ask asking tell know think like liked love prefer rather instead
actually really just only also too very so and but or not no yes yeah ok okay sure please sorry thanks thank
again still already never ever yet more less other another else different any some all both none nothing
something anything same right wrong correct good great nice perfect fine bad better best expensive cheap find
show give look make change use add remove replace switch swap ensure include exclude book try take go get see
seen watch check let's i'm i'll i'd i've it's that's don't didn't doesn't isn't can't won't haven't wasn't
about for from with without in on at to of than then now if because before after up out first second last next
new old many much long step
"""
#: Words that name no topic. They show the manner of speaking, so their weights generalise to other subjects.
CLOSED: Final = tuple(_WORDS.split())

_PLACE: Final = {word: number for number, word in enumerate(CLOSED)}
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_KIND_PLACE: Final = {kind: number for number, kind in enumerate(_KINDS)}
_WH: Final = frozenset({"who", "what", "when", "where", "why", "how", "which", "whose", "whom"})
_AUXILIARY: Final = frozenset(
    {
        "is",
        "are",
        "do",
        "does",
        "did",
        "can",
        "could",
        "would",
        "will",
        "was",
        "were",
        "has",
        "have",
        "had",
        "should",
        "may",
    }
)
_MYSELF: Final = frozenset({"i", "i'm", "i'd", "i'll", "i've"})
_SENTENCE: Final = re.compile(r"[.!?]+(?:\s|$)")

RELATIONS: Final = (
    "cosine_request", "cosine_answer", "cosine_request_answer", "same_intent", "in_request", "in_answer", "fresh",
    "request_again", "jaccard", "number_new", "number_in_answer", "number_in_request", "words", "few", "length_ratio",
    "asks", "ends_asking", "wh", "auxiliary", "imperative", "sentences", "exclaims", "answer_asks", "answer_words",
    "answer_code", "answer_numbers", "request_words", "no_request", "starts_lower_i", "repeats",
    "swapped", "narrowed", "swapped_answered", "failed", "coded", "long", "listed",
)  # fmt: skip

WIDTH: Final = len(_KINDS) + len(RELATIONS) + 2 * len(CLOSED)

Matrix = npt.NDArray[np.float32]


def names() -> tuple[str, ...]:
    """Return the names of the features, in the order of the columns of `matrix`."""
    return (*_KINDS, *RELATIONS, *(f"word:{w}" for w in CLOSED), *(f"first:{w}" for w in CLOSED))


def matrix(evidence: Sequence[Evidence]) -> Matrix:
    """Return the features of all items as a matrix of shape (len(evidence), WIDTH).

    The features are flags, ratios and scaled counts, most of them in [0, 1].
    """
    out = np.zeros((len(evidence), WIDTH), dtype=np.float32)
    if not evidence:
        return out
    relations = len(_KINDS)
    words = relations + len(RELATIONS)
    first = words + len(CLOSED)
    out[:, relations:words] = [relate(e) for e in evidence]
    present: list[int] = []
    for start, e in zip(range(0, out.size, WIDTH), evidence, strict=True):
        present += [start + _KIND_PLACE[kind] for kind in e.kinds | e.answer_kinds]
        said = e.message.said_words
        present += [start + words + _PLACE[word] for word in _PLACE.keys() & said]
        present += [start + first + _PLACE[word] for word in said[:2] if word in _PLACE]
    out.ravel()[present] = 1.0
    return out


def relate(e: Evidence) -> tuple[float, ...]:
    """Return the values of the features `RELATIONS`, in this order, for one message."""
    message, request, answer = e.message, e.request, e.answer
    text, answered = message.text, answer.text
    message_words, request_words, answer_words = message.content, request.content, answer.content
    known = len(message_words) or 1
    in_request = len(message_words & request_words)
    in_answer = len(message_words & answer_words)
    numbers = message.numbers
    length = len(message.words)
    fresh = message_words - request_words
    opening = message.words[0] if length else ""
    asked = len(request.words)
    return (
        e.similarity,
        e.answer_similarity,
        e.request_answer_similarity,
        e.same_intent,
        in_request / known,
        in_answer / known,
        len(fresh - answer_words) / known,
        in_request / (len(request_words) or 1),
        in_request / (len(request_words) + len(fresh) or 1),
        1.0 if numbers - answer.numbers - request.numbers else 0.0,
        1.0 if numbers & answer.numbers else 0.0,
        1.0 if numbers & request.numbers else 0.0,
        math.log1p(length) / 4,
        1.0 if length <= 3 else 0.0,
        min(2.0, length / (asked or 1)) / 2,
        1.0 if "?" in text else 0.0,
        1.0 if text.endswith("?") else 0.0,
        1.0 if opening in _WH else 0.0,
        1.0 if opening in _AUXILIARY else 0.0,
        1.0 if "cue_edit" in e.kinds else 0.0,
        min(4, len(_SENTENCE.findall(message.said))) / 4,
        1.0 if "!" in message.said else 0.0,
        1.0 if answered[-3:].rstrip("\"') ").endswith("?") else 0.0,
        math.log1p(len(answer.words)) / 5,
        1.0 if "select " in answered or "step 1" in answered or answer.coded else 0.0,
        1.0 if answer.numbers else 0.0,
        math.log1p(asked) / 4,
        0.0 if asked else 1.0,
        1.0 if opening in _MYSELF else 0.0,
        1.0 if message_words and message_words == request_words else 0.0,
        1.0 if e.has_swapped_words else 0.0,
        1.0 if fresh and request_words and request_words <= message_words else 0.0,
        1.0 if e.has_other_detail else 0.0,
        1.0 if message.failed else 0.0,
        1.0 if message.coded else 0.0,
        1.0 if length > SAID else 0.0,
        1.0 if " - " in text or " 1. " in text or " 2. " in text else 0.0,
    )
