"""Makes training rows of talk with agents: written in talk/*.txt, with natural shares, lengths and answers.

A talk file is a grammar file with one more line in its head, `share rejected 27 ok 10 follow 44 none 19`: how many of a
hundred messages turn an answer down, approve it, build on it, or say nothing about it. A section may name several kinds
of situation (`message done+code ...`). `<detail>` and `<pad>` are the sentences that messages and answers are made
longer by, whatever they say; `⏎` is the end of a line.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from training.grammar import Domain, Filling, Saying, Situation, load
from training.noise import spoken
from training.pairs import Row

FOLDER: Final = Path(__file__).parent / "talk"
SEED: Final = 71_940
#: Rows of one file.
ROWS: Final = 1_800
#: Sentences that a message has besides the one that counts, and how many of a hundred messages have so many.
_DETAILS: Final = ((0, 60), (1, 16), (2, 8), (3, 6), (5, 5), (8, 3), (13, 2))
#: How many messages of a group speak of other things than the request before.
_ELSEWHERE: Final = {"rejected": 0.2, "ok": 0.4, "follow": 0.5, "none": 0.8}
_PADS: Final = ((0, 45), (1, 20), (3, 20), (6, 15))
_BETWEEN: Final = (" ", " ", " ", "\n", "\n\n", "\n- ")
_GREETINGS: Final = ("hi, ", "ok, ", "ok ", "hey, ", "so ", "please, ", "thanks. ", "hmm ", "and ", "well, ")
_GROUPS: Final = {
    ("rejected", "not_ok"): "rejected",
    ("accepted", "ok"): "ok",
    ("accepted", "neutral"): "follow",
    ("neutral", "neutral"): "none",
}


def domains() -> list[Domain]:
    """Return the talk files, in order of their names."""
    return load(FOLDER)


def talk(seed: int = SEED, count: int = ROWS) -> Iterator[Row]:
    """Yield `count` rows of each file, the same in every run; changing one file does not affect the rows of others."""
    for domain in domains():
        rng = random.Random(f"{seed} {domain.name}")
        sayings: dict[str, list[tuple[str, Saying]]] = {}
        for kinds, own in domain.sayings.items():
            for saying in own:
                sayings.setdefault(_GROUPS[saying.label, saying.gate], []).append((kinds, saying))
        groups = sorted(sayings)
        shares = [domain.shares[group] for group in groups]
        for group in rng.choices(groups, shares, k=count):
            kinds, saying = rng.choice(sayings[group])
            fitting = [s for s in domain.situations if s.kind in kinds.split("+")]
            yield _row(domain, rng.choice(fitting), saying, group, rng)


def _row(domain: Domain, situation: Situation, saying: Saying, group: str, rng: random.Random) -> Row:
    filling = Filling(domain.slots, rng)
    request = filling.fill(situation.request)
    answer = _lengthened(filling.fill(situation.answer), "pad", _PADS, situation, domain, rng)
    if rng.random() < _ELSEWHERE[group]:
        filling = Filling(domain.slots, rng)
    core = filling.fill(saying.text)
    if rng.random() < 0.08:
        core = rng.choice(_GREETINGS) + core
    short = group == "ok" and rng.random() < 0.8
    message = core if short or "⏎" in core else _explained(core, filling, rng)
    return {
        "domain": domain.name,
        "situation": situation.kind,
        "request": spoken(request, rng).replace("⏎", "\n"),
        "answer": answer.replace("⏎", "\n"),
        "message": spoken(message, rng, saying.label if rng.random() < 0.5 else "").replace("⏎", "\n"),
        "label": saying.label,
        "kind": saying.kind,
        "gate": saying.gate,
    }


def _explained(core: str, filling: Filling, rng: random.Random) -> str:
    """Place the decisive sentence, mostly first, among sentences that say nothing about the answer."""
    count = _drawn(_DETAILS, rng)
    sentences = [filling.fill(f"<detail{number}>") for number in range(1, count + 1)]
    luck = rng.random()
    place = 0 if luck < 0.7 else count if luck < 0.85 else rng.randrange(count + 1)
    if sentences and core[-1:] not in ".!?:":
        core += rng.choice([".", ".", ",", ""])
    sentences.insert(place, core)
    between = rng.choice(_BETWEEN)
    return between.join(sentences)


def _lengthened(
    answer: str,
    slot: str,
    shares: tuple[tuple[int, int], ...],
    situation: Situation,
    domain: Domain,
    rng: random.Random,
) -> str:
    """Return an answer with more text before its last sentence."""
    filling = Filling(domain.slots, rng)
    more = [filling.fill(f"<{slot}{number}>") for number in range(1, _drawn(shares, rng) + 1)]
    asking = situation.kind in {"ask", "confirm", "closing"}
    return " ".join([*more[:1], answer]) if asking else rng.choice([" ", "\n", "\n\n"]).join([answer, *more])


def _drawn(shares: tuple[tuple[int, int], ...], rng: random.Random) -> int:
    return rng.choices([count for count, _ in shares], [share for _, share in shares])[0]
