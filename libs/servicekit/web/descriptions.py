"""Route summaries and descriptions in the OpenAPI document, derived from docstrings."""

from __future__ import annotations

from typing import Any


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
    return document
