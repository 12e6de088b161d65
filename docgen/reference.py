"""Reference of what operators set and watch: metrics, the detector's rules, sources, and the keys of their maps.

`python -m docgen.reference` prints it as one page in Markdown, which each release contains.
"""

from __future__ import annotations

import inspect
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from prometheus_client.metrics import MetricWrapperBase
from pydantic import BaseModel

import chat_bridge.metrics
import inference.metrics
import reporting.metrics
import servicekit.metrics
from chat_bridge.settings import ChatBridgeSettings
from chat_bridge.sources.api import MAPPED, SLACK
from chat_bridge.sources.registry import SourceSettings
from chat_bridge.sources.webhook_map import AttachmentPart, MapAnswer, Rule, Signature, WebhookMap
from detector.explain import RULE_HEADS, rule_rows
from docgen.events_page import type_of

EXAMPLES = Path(__file__).parents[1] / "examples" / "webhooks"
_OWNERS = {
    servicekit.metrics: "all services",
    chat_bridge.metrics: "chat_bridge",
    inference.metrics: "inference",
    reporting.metrics: "reporting",
}
_MAPS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The head of a map", WebhookMap),
    ("[signature]", Signature),
    ("[[rule]]", Rule),
    ("A table of `attachments`", AttachmentPart),
    ("[[answer]]", MapAnswer),
)


def reference() -> str:
    """Return the page."""
    parts = [
        "# Reference",
        "## Metrics",
        _table(metric_rows()),
        "## Rules of the detector",
        "The first that applies counts.",
    ]
    parts += [_table([RULE_HEADS, *rule_rows()]), "## Sources"]
    prefix = str(ChatBridgeSettings.model_config["env_prefix"])
    rows = _settings(SourceSettings, "setting", lambda name: f"{prefix}{name}".upper())
    parts += [f"`POST {SLACK}`, and `POST {MAPPED.replace(':segment', '')}` for each map", _table(rows)]
    for title, model in _MAPS:
        parts += [f"## {title}", str(inspect.getdoc(model)), _table(_settings(model, "key", str))]
    return "\n\n".join([*parts, "## Maps in examples/webhooks", _table(_examples())]) + "\n"


def _table(rows: Iterable[Sequence[str]]) -> str:
    heads, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *others))


def names_of(module: ModuleType) -> Iterator[tuple[str, MetricWrapperBase]]:
    """Yield the metrics that `module` defines, each with its name in Prometheus."""
    for metric in vars(module).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            yield f"{family.name}_total" if family.type == "counter" else family.name, metric


def metric_rows() -> Iterator[Sequence[str]]:
    """Yield the heads of the table of metrics, and a row for each metric."""
    yield "metric", "kind", "labels", "meaning", "of"
    for module, owner in _OWNERS.items():
        for name, metric in names_of(module):
            (family,) = metric.describe()
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)
            yield f"`{name}`", family.type, labels, family.documentation, owner


def _settings(model: type[BaseModel], head: str, named: Any) -> Iterator[Sequence[str]]:
    yield head, "type", "default", ""
    schema = model.model_json_schema(mode="validation")
    for name, field in model.model_fields.items():
        shown = "needed" if field.is_required() else _as_toml(field.get_default(call_default_factory=True))
        yield f"`{named(name)}`", _type(schema["properties"][name]), shown, field.description or ""


def _type(schema: dict[str, Any]) -> str:
    """Return a key's type in TOML."""
    [kind] = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    if "enum" in kind:
        return ", ".join(f"`{option}`" for option in kind["enum"])
    if "$ref" in kind or kind.get("type") == "object":
        return "table"
    if kind.get("type") == "array":
        return "path, or list of paths" if kind["items"].get("format") == "path" else "list of tables"
    return "path" if kind.get("format") == "path" else type_of(kind)


def _as_toml(value: Any) -> str:
    return "" if value is None or value in ([], {}, "") else f"`{json.dumps(value)}`"


def _examples() -> Iterator[Sequence[str]]:
    yield "map", "signature", "secret", "from"
    for path in sorted(EXAMPLES.glob("*.toml")):
        text = path.read_text("utf-8")
        signature = tomllib.loads(text)["signature"]
        yield (
            path.stem,
            signature["kind"],
            f"`{signature['secret']}`",
            text.partition("\n")[0].removeprefix("# ").rstrip("."),
        )


if __name__ == "__main__":
    sys.stdout.write(reference())
