"""Format the evaluation reports of several files as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]

_MESSAGES = (
    "| labelled messages | rows | macro-F1 | ECE | announced rejections: right | recall | precision at 8 % "
    "| announced ok: right by the gate's label |\n|---|---|---|---|---|---|---|---|"
)
_UNLABELLED = (
    "| unlabelled messages | rows | announced as rejected | announced as ok | called rejected |\n|---|---|---|---|---|"
)
_PHRASES = "| phrases | rows | label | announced | both | false rejections |\n|---|---|---|---|---|---|"
_TARGETS = "| targets | rows | right | more than one turn back | right |\n|---|---|---|---|---|"


def markdown(reports: Mapping[str, Report]) -> str:
    """Format reports, keyed by file name, as Markdown with one table for each kind of rows."""
    tables = {
        "messages": (_MESSAGES, _messages),
        "unlabelled": (_UNLABELLED, _unlabelled),
        "phrases": (_PHRASES, _phrases),
        "targets": (_TARGETS, _targets),
    }
    blocks = []
    for kind, (head, lines) in tables.items():
        body = [line for name, report in reports.items() if report["kind"] == kind for line in lines(name, report)]
        if body:
            blocks.append("\n".join([head, *body]))
    return "\n\n".join(blocks)


def _messages(name: str, report: Report) -> Iterator[str]:
    yield _line(f"**{name}**", *_scores(report))
    for group in ("language", "source", "length"):
        parts = report.get("by", {}).get(group, {})
        if len(parts) > 1:
            for part, scores in parts.items():
                yield _line(f"{name}: {part}", *_scores(scores))


def _scores(report: Report) -> tuple[str, ...]:
    rejected, ok = report["at_emission"]["rejected"], report["at_emission"]["ok"]
    return (
        f"{report['rows']:,}",
        f"{report['macro_f1']:.3f}",
        f"{report['ece']:.3f}",
        _right(rejected),
        _share(rejected, "recall", 2),
        f"{rejected['precision_at_8pct']:.2f}" if rejected["announced"] else "",
        _right(ok),
    )


def _right(scores: Report) -> str:
    if not scores["announced"]:
        return "none announced"
    right = round(scores["precision"] * scores["announced"])
    return f"{right} of {scores['announced']}, {_share(scores, 'precision', 2)}"


def _share(scores: Report, name: str, digits: int) -> str:
    """Format a proportion and its 95 % confidence interval with the given number of decimals."""
    share, low, high = (f"{scores[key]:.{digits}f}" for key in (name, f"{name}_low", f"{name}_high"))
    return f"{share} ({low}–{high})"


def _unlabelled(name: str, report: Report) -> Iterator[str]:
    for part, scores in {
        f"**{name}**": report,
        **{f"{name}: {s}": own for s, own in report["per_source"].items()},
    }.items():
        shares = (_share(scores, key, 3) for key in ("announced_rejected", "announced_ok", "called_rejected"))
        yield _line(part, f"{scores['rows']:,}", *shares)


def _phrases(name: str, report: Report) -> Iterator[str]:
    yield _line(
        f"**{name}**", *(str(report[key]) for key in ("rows", "label", "announced", "both", "false_rejections"))
    )


def _targets(name: str, report: Report) -> Iterator[str]:
    parts = {f"**{name}**": report, f"{name}: verdicts": report["by_verdict"], f"{name}: rules": report["by_rules"]}
    for part, scores in parts.items():
        yield _line(
            part,
            str(scores["rows"]),
            _share(scores, "accuracy", 3),
            str(scores["rows_further_back"]),
            _share(scores, "accuracy_further_back", 3),
        )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
