"""Makes the training rows out of the grammar: the same rows on every run.

    python -m training.make

writes data/exchanges.jsonl (what a message says about an answer) and data/pairs.jsonl (do two requests want the same).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from training.grammar import Domain, Filling, Saying, Situation, expand, load, load_questions
from training.noise import answered, spoken
from training.pairs import Row, pairs

SEED: Final = 20_260
DATA: Final = Path(__file__).parent / "data"
#: Rows made of one saying, by what it means; neutral sayings are fewer than their share of real messages.
ROUNDS: Final = {"rejected": 18, "accepted": 20, "neutral": 20}
GENERIC_ROUNDS: Final = {"rejected": 36, "accepted": 36, "neutral": 36}


_NARROWED: Final = (
    "{originally|actually|first|really|exactly}",
    "{in the north|before the war|for women|outside of Europe|"
    "in the second season|in the original version|after the reform|for children|last year|at the end}",
)


def rows(domains: list[Domain], rng: random.Random) -> Iterator[Row]:
    """Yield every kind of row, domain by domain."""
    generic = next(d for d in domains if d.name == "generic")
    talking = [d for d in domains if d.situations]
    for domain in talking:
        yield from _sayings(domain, rng)
        yield from _replies(domain, rng)
        yield from _reworded(domain, rng)
        yield from _new_requests(domain, talking, rng)
    for saying in generic.sayings["any"]:
        for _ in range(GENERIC_ROUNDS[saying.label]):
            domain = rng.choice(talking)
            fitting = [s for s in domain.situations if s.kind not in {"ask", "close"}]
            yield _row(domain, rng.choice(fitting), saying, rng)


def _sayings(domain: Domain, rng: random.Random) -> Iterator[Row]:
    for kind, sayings in domain.sayings.items():
        fitting = [s for s in domain.situations if s.kind == kind]
        for saying in sayings:
            for _ in range(ROUNDS[saying.label]):
                yield _row(domain, rng.choice(fitting), saying, rng)


def _replies(domain: Domain, rng: random.Random) -> Iterator[Row]:
    """Yield answers to the agent's own question, which are not feedback on its work."""
    for situation in domain.situations:
        for reply in situation.replies:
            saying = Saying(reply, "neutral", "none", "neutral")
            for _ in range(4):
                yield _row(domain, situation, saying, rng)
        if situation.replies:
            for text in _IMPATIENT:
                yield _row(domain, situation, Saying(text, "rejected", "explicit", "not_ok"), rng)


_IMPATIENT: Final = (
    "{I already|I just|I've already} {told you|said that|answered that|gave you that}{.| above| in my first message|}",
    "{you|you have} {asked|already asked} {me |}that{ before| twice|}{.|!|}",
    "{that's|this is} not {what I asked|what I need help with|relevant}",
    "{just|why don't you just} answer {my|the} question{ first| please|}",
)


def _reworded(domain: Domain, rng: random.Random) -> Iterator[Row]:
    """Yield the same request again after an answer that missed it, and a narrowed version of the request."""
    for group in domain.groups:
        for place, first in enumerate(group):
            for other in [*group[:place], *group[place + 1 :], first]:
                text = expand("{||||no, |I said |again: |ok but |sorry, |I mean, }", rng) + other
                yield _plain(domain, first, rng.choice(domain.misfits), text, "rephrased", rng)
        other = rng.choice(group)
        for _ in range(2):
            adverb, where = (expand(part, rng) for part in _NARROWED)
            text = f"{other.rstrip('?')} {where}" + rng.choice(["?", "", " " + adverb + "?"])
            yield _plain(domain, group[0], rng.choice(domain.misfits), text, "rephrased", rng)
    for situation in domain.situations:
        if situation.kind in {"inform", "offer"}:
            for _ in range(5):
                yield _narrowed(domain, situation, rng)


def _narrowed(domain: Domain, situation: Situation, rng: random.Random) -> Row:
    filling = Filling(domain.slots, rng)
    request = filling.fill(expand(situation.request, rng))
    answer = filling.fill(expand(situation.answer, rng))
    tail = expand(rng.choice(_NARROWED), rng)
    lead = expand("{||||but |no, |sorry, |I meant }", rng)
    text = lead + request.rstrip("?.! ") + " " + tail + rng.choice(["", "?"])
    return _plain(domain, request, answer, text, "rephrased", rng)


def _plain(domain: Domain, request: str, answer: str, text: str, kind: str, rng: random.Random) -> Row:
    situation = Situation("inform", request, answer)
    return _row(domain, situation, Saying(text, "rejected", kind, "not_ok"), rng)


def _new_requests(domain: Domain, talking: list[Domain], rng: random.Random) -> Iterator[Row]:
    """Yield an unrelated request, of the same domain or another one, after an answer that nobody commented on."""
    for situation in domain.situations:
        for _ in range(4):
            source = domain if rng.random() < 0.4 else rng.choice(talking)
            asked = rng.choice(source.situations).request
            if source.groups and rng.random() < 0.4:
                asked = rng.choice(rng.choice(source.groups))
            if asked == situation.request or len(asked.split()) < 4:
                continue
            text = Filling(source.slots, rng).fill(expand("{|||now |ok, |thanks. |hi, |next: |also, }" + asked, rng))
            yield _row(domain, situation, Saying(text, "neutral", "none", "neutral"), rng)
        if "<" in situation.request and len(situation.request.split()) > 3:
            for _ in range(3):
                yield _again(domain, situation, rng)


def _again(domain: Domain, situation: Situation, rng: random.Random) -> Row:
    """Return the same kind of request for something else: similar words, but no complaint about the answer."""
    first, then = (expand(situation.request, random.Random(rng.random())) for _ in range(2))
    row = _row(
        domain, Situation(situation.kind, first, situation.answer), Saying("", "neutral", "none", "neutral"), rng
    )
    for _ in range(5):
        other = Filling(domain.slots, rng).fill(then)
        if not set(other.lower().split()) <= set(row["request"].lower().split()):
            break
    return {**row, "message": spoken(expand("{|||now |and |ok, |next, }", rng) + other, rng)}


def _row(domain: Domain, situation: Situation, saying: Saying, rng: random.Random) -> Row:
    filling = Filling(domain.slots, rng)
    request = filling.fill(expand(situation.request, rng))
    answer = filling.fill(expand(situation.answer, rng))
    message = filling.fill(expand(saying.text, rng))
    return {
        "domain": domain.name,
        "situation": situation.kind,
        "request": spoken(request, rng),
        "answer": answered(answer, situation.kind, rng),
        "message": spoken(message, rng, saying.label),
        "label": saying.label,
        "kind": saying.kind,
        "gate": saying.gate,
    }


def write(path: Path, made: list[Row]) -> None:
    """Write one JSON object per line, without duplicates."""
    lines = dict.fromkeys(json.dumps(row, ensure_ascii=False, sort_keys=True) for row in made)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write both files."""
    domains = load()
    DATA.mkdir(exist_ok=True)
    write(DATA / "exchanges.jsonl", list(rows(domains, random.Random(SEED))))
    write(DATA / "pairs.jsonl", list(pairs(domains, load_questions(), random.Random(SEED + 1))))


if __name__ == "__main__":
    main()
