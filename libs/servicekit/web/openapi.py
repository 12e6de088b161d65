"""OpenAPI document of a process: summaries from docstrings, and descriptions of path parameters."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi


class PathName(NamedTuple):
    """Description and example value of a path parameter."""

    description: str
    example: str


PATH_NAMES: Final[Mapping[str, PathName]] = MappingProxyType(
    {
        "tenant": PathName("The customer that owns the data.", "acme"),
        "project": PathName("The project within the tenant.", "support"),
        "conversation_id": PathName("The conversation, also called thread.", "c-42"),
        "turn_id": PathName("The turn: a person's question and the agent's answer to it.", "t-7"),
        "thread_id": PathName("The session's thread, which is the conversation's id.", "c-42"),
        "user_id": PathName("The person.", "user-42"),
        "request_id": PathName("The id of the accepted request.", "8d0f0d0e"),
        "endpoint": PathName("The endpoint's name in the webhooks file.", "learner"),
        "wanted": PathName("kto, dpo, sft or events.", "kto"),
    }
)
"""Descriptions and examples by parameter name."""


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the app's routes, and cache it in the app."""
    if app.openapi_schema is None:
        app.openapi_schema = described(
            get_openapi(
                title=app.title, version="1", description=app.description, routes=app.routes, tags=app.openapi_tags
            )
        )
    return app.openapi_schema


def described(document: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI document with the first line of each route's description as the route's summary."""
    for operations in document["paths"].values():
        for operation in operations.values():
            first, _, rest = operation.get("description", "").partition("\n")
            if first:
                operation["summary"], operation["description"] = first.rstrip(".").replace("`", ""), rest.strip()
            for answer in operation["responses"].values():
                if answer.get("description") == "Successful Response":  # FastAPI's own words
                    answer["description"] = "Answered."
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and (path_name := PATH_NAMES.get(parameter["name"])) is not None:
                    parameter["description"] = path_name.description
                    parameter["schema"] |= {"description": path_name.description, "examples": [path_name.example]}
    return document
