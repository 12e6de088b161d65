"""Texts that the sample of the wording draws."""

from __future__ import annotations

from benchmarks.wording_sample import DOCSTRINGS, draw, sentences_of

PAGE = """# A heading is no sentence

The first sentence has `code`. The second one
goes over two lines.

| a | table |
|---|---|

- An item is a sentence. So is its second one, here.
1. Steps are sentences as well.

```bash
This is only a command. It is not prose.
```

Too short. ![A picture is no prose.](picture.svg)
"""


def test_sentences_are_those_of_paragraphs_and_lists() -> None:
    assert list(sentences_of(PAGE)) == [
        "The first sentence has `code`.",
        "The second one goes over two lines.",
        "An item is a sentence.",
        "So is its second one, here.",
        "Steps are sentences as well.",
    ]


def test_a_seed_names_a_sample() -> None:
    texts = [f"Text {number}." for number in range(200)]
    one, again, other = (draw(seed, texts, texts[:3], texts) for seed in ("A", "A", "B"))
    assert one == again != other
    assert len(set(one.docstrings)) == DOCSTRINGS and sorted(one.sentences) == texts[:3]
