"""Generator of the table of metrics in docs/metrics.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from prometheus_client.metrics import MetricWrapperBase

import chat_bridge.metrics
import inference.metrics
import reporting.metrics
import servicekit.metrics

PAGE = Path(__file__).parents[1] / "docs/metrics.md"
_START, _END = "<!-- metrics -->\n", "<!-- end of metrics -->\n"
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
    """Return the text of the page, with the table of all defined metrics, by path."""
    before, rest = PAGE.read_text("utf-8").split(_START)
    after = rest.split(_END)[1]
    return {PAGE: f"{before}{_START}{_table()}{_END}{after}"}


def _table() -> str:
    lines = ["", "| metric | kind | labels | meaning | of |", "|---|---|---|---|---|"]
    for module, owner in _OWNERS.items():
        for metric in metrics_of(module):
            (family,) = metric.describe()
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)
            lines.append(f"| `{names_of(metric)}` | {family.type} | {labels} | {family.documentation} | {owner} |")
    return "\n".join([*lines, "", ""])
