"""Path parameters of the routes that belong to a tenant and a project."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from contracts.base import Name

TenantPath = Annotated[Name, Path(description="The customer that owns the data.", examples=["acme"])]
ProjectPath = Annotated[Name, Path(description="The project within the tenant.", examples=["support"])]
