"""Schema of the Helm chart's values, with the services' settings by environment variable.

Helm validates values against it in `lint`, `template`, `install` and `upgrade`, so a misspelt setting stops a release.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import BaseSettings

from chat_bridge.settings import ChatBridgeSettings
from feedback.settings import FeedbackSettings
from inference.settings import InferenceSettings
from reporting.settings import ReportingSettings
from servicekit.log.redacting import RedactionSettings
from servicekit.log.settings import KafkaSettings
from servicekit.pseudonyms import ErasureSettings
from servicekit.tracing import TracingSettings
from servicekit.web.auth_settings import AuthSettings
from servicekit.web.failures import HttpSettings

CHART = Path(__file__).parents[1] / "deploy" / "helm"
SHARED: tuple[type[BaseSettings], ...] = (
    AuthSettings,
    HttpSettings,
    KafkaSettings,
    ErasureSettings,
    RedactionSettings,
    TracingSettings,
)
SERVICES: Mapping[str, type[BaseSettings]] = {
    "chat_bridge": ChatBridgeSettings,
    "feedback": FeedbackSettings,
    "inference": InferenceSettings,
    "reporting": ReportingSettings,
}
ADDRESSES = frozenset({"broker", "database_url", "store_url"})
"""Settings that the chart derives from `kafka`, `database` and `store`."""
_SECRET = {"$ref": "#/definitions/secret"}
_VARIABLE = {"type": ["string", "number", "boolean"]}
_DEFINITIONS = {
    "secret": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "key"],
        "properties": {"name": {"type": "string"}, "key": {"type": "string", "minLength": 1}},
    }
}
_FREE = {
    "extraEnv",
    "extraVolumes",
    "extraVolumeMounts",
    "tolerations",
    "pullSecrets",
    "from",
    "egress",
    "groups",
    "trustedProxies",
}
"""Values that are lists of Kubernetes objects or of names."""
_OPEN = {"podAnnotations", "nodeSelector", "affinity", "annotations", "labels", "resources"}
"""Values that are Kubernetes objects."""


def variables(settings: Iterable[type[BaseSettings]]) -> list[str]:
    """Return the environment variables of the settings that the chart's values may set."""
    return sorted(
        f"{one.model_config['env_prefix']}{name}".upper()
        for one in settings
        for name in one.model_fields
        if name not in ADDRESSES
    )


def files() -> dict[Path, str]:
    """Return the text of the schema file, by path."""
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    schema = _of_object(values, SHARED)
    services = {name: _of_object(one, (SERVICES[name],)) for name, one in values["services"].items()}
    schema["properties"]["services"] = _closed(services)
    schema["properties"]["serviceMonitor"]["properties"]["authorization"] = _SECRET
    schema["properties"]["topics"]["properties"]["replication"] = {"type": ["integer", "null"], "minimum": 1}
    schema["properties"]["global"] = {"type": "object"}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": _DEFINITIONS, **schema}
    return {CHART / "values.schema.json": json.dumps(schema, indent=2) + "\n"}


def _of_object(values: Mapping[str, Any], settings: Iterable[type[BaseSettings]]) -> dict[str, Any]:
    """Return the schema of an object with these default values.

    Keys of `settings` and `secrets` must be variable names.
    """
    names = variables(settings)
    properties: dict[str, Any] = {}
    for name, value in values.items():
        if name == "settings":
            properties[name] = _closed(dict.fromkeys(names, _VARIABLE))
        elif name == "secrets":
            properties[name] = _closed(dict.fromkeys(names, _SECRET))
        elif name == "secret":
            properties[name] = _SECRET
        else:
            properties[name] = _of_value(name, value)
    return _closed(properties)


def _of_value(name: str, value: Any) -> dict[str, Any]:
    if name in _FREE:
        return {"type": "array"}
    if name in _OPEN:
        return {"type": "object"}
    if isinstance(value, Mapping):
        return _of_object(value, ())
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer", "minimum": 0}
    return {"type": "string"}


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": dict(properties)}
