"""The Helm chart's values: settings by the services' own names, consumer groups of the topic table, five examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from contracts.topics import OPTIONAL, TOPICS
from docgen.helm_schema import ADDRESSES
from tests.release.test_settings import SETTINGS, names_of

CHART = Path(__file__).parents[2] / "deploy" / "helm"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
SCHEMA = json.loads((CHART / "values.schema.json").read_text("utf-8"))
EXAMPLES = ("minimal", "production", "operators", "mongodb", "slack-webhooks")
WHAT = ("settings", "secrets")


def example(name: str) -> Any:
    return yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text("utf-8"))


def accepted(what: str) -> set[str]:
    """Return every variable that the schema accepts in `settings` or `secrets`, shared ones and of each service."""
    properties = SCHEMA["properties"]
    services = properties["services"]["properties"].values()
    places = [properties[what], *(service["properties"][what] for service in services)]
    return {name for place in places for name in place["properties"]}


@pytest.mark.parametrize("what", WHAT)
def test_the_chart_accepts_every_setting_but_the_addresses(what: str) -> None:
    known = set().union(*(names_of(one) for one in SETTINGS))
    addresses = {f"{service}_{name}".upper() for service in VALUES["services"] for name in ADDRESSES}
    assert accepted(what) == known - addresses


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("place", ["shared", "chat_bridge"])
def test_a_misspelt_setting_is_rejected(what: str, place: str) -> None:
    values = {what: {"HTTP_CONECTIONS": "9" if what == "settings" else {"name": "a", "key": "b"}}}
    given = values if place == "shared" else {"services": {place: values}}
    with pytest.raises(jsonschema.ValidationError, match="HTTP_CONECTIONS"):
        jsonschema.validate(given, SCHEMA)


def test_a_setting_of_another_service_is_rejected() -> None:
    with pytest.raises(jsonschema.ValidationError, match="FEEDBACK_TURN_DAYS"):
        jsonschema.validate({"services": {"inference": {"settings": {"FEEDBACK_TURN_DAYS": 1}}}}, SCHEMA)


def test_the_defaults_are_accepted() -> None:
    jsonschema.validate(VALUES, SCHEMA)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_accepted(name: str) -> None:
    jsonschema.validate(example(name), SCHEMA)


def test_every_example_is_tested() -> None:
    manifests = {"kafka-strimzi", "postgres-cloudnativepg"}
    assert {file.stem for file in (CHART / "examples").iterdir()} == {*EXAMPLES, *manifests}


def test_services_scale_by_the_lag_of_all_their_groups() -> None:
    groups = {group for service in VALUES["services"].values() for group in service["groups"]}
    assert groups == {group for topic in TOPICS for group in topic.consumers} - OPTIONAL
    for name, service in VALUES["services"].items():
        assert all(group.startswith(name) for group in service["groups"]), name
