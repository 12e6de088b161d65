"""Types of the TypeScript client, generated from the routes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from servicekit.web.application import application
from standalone.programs import PROGRAMS

FILE: Final = Path(__file__).parents[1] / "clients" / "typescript" / "src" / "schema.ts"
_HEAD: Final = "// Made from the routes by `make docs`: do not edit.\n"
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_JSON: Final = "application/json"
Schema = Mapping[str, Any]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of all services, without running any service."""
    app = application(_not_running)
    app.router.routes.extend(route for program in PROGRAMS for route in program.routes)
    return app.openapi()


async def _not_running() -> str | None:
    return "only described"


def as_typescript(document: Schema) -> str:
    """Return an interface for each schema of an OpenAPI document, and `Operations`, the routes' input and output."""
    lines = [_HEAD]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += [*_comment(schema, ""), f"export interface {name} {_type(schema, '')}", ""]
    lines += ["/** By method and path: the query, the request body, and the body of a successful response. */"]
    lines += ["export interface Operations {"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += [f"  {json.dumps(f'{method.upper()} {path}')}: {{"]
            lines += [f"    {part}: {kind};" for part, kind in _operation(operation)]
            lines += ["  };"]
    return "\n".join([*lines, "}", ""])


def _operation(operation: Schema) -> Iterator[tuple[str, str]]:
    parameters = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    query = {"type": "object", "properties": {one["name"]: one["schema"] for one in parameters}}
    query["required"] = [one["name"] for one in parameters if one.get("required")]
    yield "query", _type(query, "    ")
    body = operation.get("requestBody", {}).get("content", {}).get(_JSON, {})
    yield "body", _type(body["schema"], "    ") if body else "undefined"
    good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    answer = good.get("content", {}).get(_JSON, {})
    yield "answer", _type(answer["schema"], "    ") if answer else "unknown"


def _type(schema: Schema, indent: str) -> str:
    """Return a schema's TypeScript type; `unknown` if the schema is empty or not supported."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one, indent) for one in schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array":
        item = _type(schema.get("items", {}), indent)
        return f"({item})[]" if " " in item else f"{item}[]"
    if kind == "object":
        return _object(schema, indent)
    return _PLAIN.get(str(kind), "unknown")


def _object(schema: Schema, indent: str) -> str:
    properties: Schema = schema.get("properties", {})
    if not properties:
        others = schema.get("additionalProperties", True)
        return f"Record<string, {_type(others, indent) if isinstance(others, dict) else 'unknown'}>"
    needed = schema.get("required", ())
    lines = ["{"]
    for name, one in properties.items():
        lines += _comment(one, indent + "  ")
        lines.append(f"{indent}  {name}{'' if name in needed else '?'}: {_type(one, indent + '  ')};")
    return "\n".join([*lines, indent + "}"])


def _comment(schema: Schema, indent: str) -> list[str]:
    text = " ".join(str(schema.get("description", "")).split()).replace("*/", "* /")
    return [f"{indent}/** {text} */"] if text else []


def files() -> dict[Path, str]:
    """Return the text of the generated file, by path."""
    return {FILE: as_typescript(openapi())}
