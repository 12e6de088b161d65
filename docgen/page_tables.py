"""Tables of metrics in docs/metrics.md, and of the detector's rules in docs/inference.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from prometheus_client.metrics import MetricWrapperBase

import chat_bridge.metrics
import inference.metrics
import reporting.metrics
import servicekit.metrics
from detector.explain import RULE_HEADS, rule_rows

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "metrics.md"
RULES_PAGE = DOCS / "inference.md"
_OWNERS = {
    servicekit.metrics: "all services",
    chat_bridge.metrics: "chat_bridge",
    inference.metrics: "inference",
    reporting.metrics: "reporting",
}


def metrics_of(module: ModuleType) -> Iterator[MetricWrapperBase]:
    """Yield the metrics that `module` defines, in order."""
    yield from (value for value in vars(module).values() if isinstance(value, MetricWrapperBase))


def names_of(metric: MetricWrapperBase) -> str:
    """Return a metric's name in Prometheus, which ends with `_total` for a counter."""
    (family,) = metric.describe()
    return f"{family.name}_total" if family.type == "counter" else family.name


def files() -> dict[Path, str]:
    """Return the text of each page, with its table between its marks, by path."""
    tables = {PAGE: ("metrics", _metrics()), RULES_PAGE: ("rules", [RULE_HEADS, *rule_rows()])}
    return {page: _with_table(page.read_text("utf-8"), name, rows) for page, (name, rows) in tables.items()}


def _with_table(page: str, name: str, rows: Iterable[Sequence[str]]) -> str:
    start, end = f"<!-- {name}, made by `make docs` -->\n", f"<!-- end of {name} -->"
    before, rest = page.split(start)
    heads, *others = rows
    table = "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *others))
    return f"{before}{start}\n{table}\n{end}{rest.split(end)[1]}"


def _metrics() -> Iterator[Sequence[str]]:
    yield "metric", "kind", "labels", "meaning", "of"
    for module, owner in _OWNERS.items():
        for metric in metrics_of(module):
            (family,) = metric.describe()
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)
            yield f"`{names_of(metric)}`", family.type, labels, family.documentation, owner
