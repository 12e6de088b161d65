"""The dashboard's health panel, given the state that its composition reports."""

from __future__ import annotations

from reporting.dashboard.health import health_facts
from reporting.dashboard.rendering import page


async def test_warnings_are_shown_as_sentences() -> None:
    async def health() -> dict[str, object]:
        return {"lag": {"feedback": 3}, "warnings": ["feedback: 9 records of <b> were deleted"]}

    facts = await health_facts(health)
    assert facts.warnings == ("feedback: 9 records of <b> were deleted",)
    shown = bytes(page("empty.html", health=facts, base="http://af.example").body).decode()
    assert "feedback: 9 records of &lt;b&gt; were deleted." in shown
