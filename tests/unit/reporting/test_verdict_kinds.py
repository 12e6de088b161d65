"""Share of right verdicts of a kind: which figure applies, and its sentence."""

from __future__ import annotations

import pytest

from detector.published import PUBLISHED, CheckedVerdicts
from reporting.pages.rendering import accuracy_in_words
from reporting.reviews.kinds import ENOUGH, KindCounts, kind_of

RULES: KindCounts = {("not_ok", "rules"): CheckedVerdicts(41, ENOUGH), ("not_ok", "learned"): CheckedVerdicts(3, 10)}


@pytest.mark.parametrize(
    ("reaction", "decided_by", "counts", "sentence"),
    [
        (
            "not_ok",
            "rules",
            RULES,
            "Of 50 rejections by its rules reviewed in this project, 41 were right (69% to 90%).",
        ),
        ("not_ok", "learned", RULES, "Of 60 rejections reviewed in this project, 44 were right (61% to 83%)."),
        ("not_ok", "llm", {}, None),
        ("neutral", "rules", {}, None),
    ],
)
def test_the_closest_group_with_enough_reviews_is_shown(
    reaction: str, decided_by: str, counts: KindCounts, sentence: str | None
) -> None:
    kind = kind_of(reaction, decided_by, counts)  # type: ignore[arg-type]
    assert (None if kind is None else accuracy_in_words(kind)) == sentence


def test_the_published_figure_applies_until_enough_verdicts_are_reviewed() -> None:
    few: KindCounts = {("not_ok", "rules"): CheckedVerdicts(0, ENOUGH - 1)}
    kind = kind_of("not_ok", "rules", few)
    assert kind is not None and (kind.source, kind.right, kind.checked) == ("published", *PUBLISHED["not_ok"])
    assert accuracy_in_words(kind).endswith("rejections in published tests, 41 were right (85% to 99%).")
