"""Short English descriptions of JSON Schema types for generated pages."""

from __future__ import annotations

import json
from typing import Any

_BOUNDS = (("minimum", "from"), ("maximum", "to"))


def type_of(field: dict[str, Any]) -> str:
    """Describe a JSON Schema type in a few words, such as "text or null", "integer, from 1" or "`ok`, `not_ok`"."""
    if "anyOf" in field:
        return " or ".join(type_of(branch) for branch in field["anyOf"])
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{json.dumps(choice).strip(chr(34))}`" for choice in field.get("enum", [field.get("const")]))
    match field.get("type"):
        case "string":
            words = {"date-time": "time", "uuid": "UUID"}.get(field.get("format", ""), "text")
            return words + (f" up to {field['maxLength']:,}" if "maxLength" in field else "")
        case "array":
            return f"list of {type_of(field['items'])}" + (
                f", up to {field['maxItems']}" if "maxItems" in field else ""
            )
        case "object":
            return "object"
        case "integer" | "number" as kind:
            bounds = [f" {word} {field[name]:,}" for name, word in _BOUNDS if name in field and field[name] < 2**53]
            return f"{kind}{',' if bounds else ''}{''.join(bounds)}"
        case other:
            return str(other or "anything")
