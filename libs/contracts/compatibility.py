"""Finds schema changes that break readers of what we wrote or writers of what we read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Mapping[str, Any]]
"""What a schema demands of each property, by its path: type, choices, limits, and whether it must be there."""

_UPPER = ("maxLength", "maximum", "maxItems", "maxProperties")
_LOWER = ("minLength", "minimum", "minItems", "minProperties")


def facts_of(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Flatten a schema into one table by path, references followed; array elements are `[]`, map values `{}`."""
    found: dict[str, dict[str, Any]] = {}
    _collect(schema, schema, "", True, found)
    return found


def incompatibilities(before: Facts, after: Facts) -> list[str]:
    """List, in sentences, what a message that was sound before may now fail on; empty where nothing breaks."""
    broken = [f"{path} is gone" for path in before if path not in after]
    added = [path for path in after if path not in before]
    broken += [f"{path} is demanded and was not there" for path in added if after[path]["required"]]
    for path in before.keys() & after.keys():
        old, new = before[path], after[path]
        if new["required"] and not old["required"]:
            broken.append(f"{path} must now be there")
        if not set(old["types"]) <= set(new["types"]):
            broken.append(f"{path} no longer takes {sorted(set(old['types']) - set(new['types']))}")
        if new["choices"] is not None and not set(old["choices"] or ["anything"]) <= set(new["choices"]):
            broken.append(f"{path} no longer takes every choice it took")
        broken += [f"{path}: {name} is tighter" for name in _UPPER if new.get(name, 1e300) < old.get(name, 1e300)]
        broken += [f"{path}: {name} is tighter" for name in _LOWER if new.get(name, -1e300) > old.get(name, -1e300)]
        if new.get("pattern") not in (None, old.get("pattern")):
            broken.append(f"{path}: its pattern changed")
    return sorted(broken)


def _collect(
    root: Mapping[str, Any], node: Mapping[str, Any], path: str, required: bool, found: dict[str, dict[str, Any]]
) -> None:
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    branches = node.get("anyOf", [node])
    fact: dict[str, Any] = {"required": required, "types": [], "choices": None}
    for branch in branches:
        if "$ref" in branch:
            branch = root["$defs"][branch["$ref"].rsplit("/", 1)[-1]]
        fact["types"].append(branch.get("type", "const" if "const" in branch else "any"))
        choices = branch.get("enum", [branch["const"]] if "const" in branch else None)
        if choices is not None:
            fact["choices"] = sorted([*(fact["choices"] or []), *map(str, choices)])
        fact |= {name: branch[name] for name in (*_UPPER, *_LOWER, "pattern") if name in branch}
        for name, child in branch.get("properties", {}).items():
            _collect(root, child, f"{path}.{name}".lstrip("."), name in branch.get("required", ()), found)
        if isinstance(branch.get("items"), Mapping):
            _collect(root, branch["items"], f"{path}[]", False, found)
        if isinstance(branch.get("additionalProperties"), Mapping):
            _collect(root, branch["additionalProperties"], f"{path}{{}}", False, found)
    if path:
        fact["types"].sort()
        found[path] = fact
