"""Detect incompatible schema changes, i.e. changes that make previously valid events invalid. No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

Facts = Mapping[str, Mapping[str, Any]]
"""Constraints of each property by its path: `required`, `types`, `choices`, limits and `pattern`."""

_UPPER = ("maxLength", "maximum", "maxItems", "maxProperties")
_LOWER = ("minLength", "minimum", "minItems", "minProperties")
_OF_NUMBERS = ("maximum", "minimum")
"""Limits of numbers. A limit is not a restriction if the property accepted no numbers before."""
_WIDER = {
    r"^[^\x00]*[^\x00\s][^\x00]*$": r"^[^\x00]*$",
    r"^[^\x00-\x1f\x7f-\x9f]+$": r"^[^\x00-\x1f\x7f-\x9f]*$",
}
"""Pattern -> wider pattern, which matches every text that the first one matches."""


def facts_of(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the constraints on each property of a JSON Schema, keyed by property path.

    References are resolved. In a path, `[]` stands for the items of an array and `{}` for the values of a map.
    """
    found: dict[str, dict[str, Any]] = {}
    _collect(schema, schema, "", True, found)
    return found


def incompatibilities(before: Facts, after: Facts) -> list[str]:
    """Describe each incompatible change in one sentence.

    Adding an optional field is compatible, because an invalid optional field is dropped from an inbound event
    (`optional_fields.py`).
    """
    broken = [f"{path} was removed" for path in before if path not in after]
    added = [path for path in after if path not in before]
    broken += [
        f"{path} was added as a required field"
        for path in added
        if after[path]["required"] and (_parent(path) in before or not _parent(path))
    ]
    for path in before.keys() & after.keys():
        old, new = before[path], after[path]
        if new["required"] and not old["required"]:
            broken.append(f"{path} is now required")
        if not set(old["types"]) <= set(new["types"]):
            broken.append(f"{path} no longer accepts {sorted(set(old['types']) - set(new['types']))}")
        if not all(_takes(new, choice) for choice in old["choices"] or ()):
            broken.append(f"{path} no longer accepts all of its choices")
        if old["choices"] is not None:
            continue
        if new["choices"] is not None:
            broken.append(f"{path} no longer accepts all of its choices")
        broken += [f"{path}: {name} is tighter" for name in (*_UPPER, *_LOWER) if _is_tighter(name, old, new)]
        if new.get("pattern") not in (None, old.get("pattern"), _WIDER.get(old.get("pattern", ""))):
            broken.append(f"{path}: its pattern changed")
    return sorted(broken)


def _parent(path: str) -> str:
    """Return the path of the object that has the property, or an empty path for a property of the event itself."""
    return path.rpartition(".")[0].removesuffix("[]").removesuffix("{}")


def _is_tighter(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    if name in _OF_NUMBERS and not {"integer", "number"} & {*old["types"]}:
        return False
    if name in _UPPER:
        return bool(new.get(name, math.inf) < old.get(name, math.inf))
    return bool(new.get(name, -math.inf) > old.get(name, -math.inf))


def _takes(fact: Mapping[str, Any], choice: str) -> bool:
    """Return True if a property with the constraints `fact` accepts the value `choice`."""
    if fact["choices"] is not None:
        return choice in fact["choices"]
    long_enough = fact.get("minLength", 0) <= len(choice) <= fact.get("maxLength", math.inf)
    return long_enough and re.search(fact.get("pattern", ""), choice) is not None


def _collect(
    root: Mapping[str, Any], node: Mapping[str, Any], path: str, required: bool, found: dict[str, dict[str, Any]]
) -> None:
    if "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    branches = node.get("anyOf", [node])
    fact: dict[str, Any] = {"required": required, "types": [], "choices": None}
    for branch in branches:
        if "$ref" in branch:
            branch = root["$defs"][branch["$ref"].rpartition("/")[2]]
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
