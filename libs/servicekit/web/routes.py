"""FastAPI router with the declarations that all routes of a service share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, Path
from fastapi.routing import APIRoute

from contracts.path_names import PATH_NAMES
from servicekit.web.auth import Caller, caller_of
from servicekit.web.direct import DirectRoute
from servicekit.web.documents import Document
from servicekit.web.refusals import documented

H = TypeVar("H", bound=Callable[..., Any])
_NONE: Final[Mapping[int, str]] = MappingProxyType({})
_IN_PATH: Final = re.compile(r"\{(\w+)")


class Routes(APIRouter):
    """Router for routes with the same `tag`, which groups them in the HTTP reference.

    A handler declares `caller: Caller` and typed path parameters, which the reference describes with the texts in
    `contracts/path_names.py`.

    Args:
        refuses: The meaning of each status of a refused request.
        direct: True to bypass FastAPI's processing (`direct.py`).
        token: False if the routes need no token.
        hidden: True to omit the routes from the reference.
    """

    def __init__(
        self,
        tag: str,
        refuses: Mapping[int, str] = _NONE,
        *,
        direct: bool = False,
        token: bool = True,
        hidden: bool = False,
    ) -> None:
        super().__init__(
            tags=[tag],
            responses=documented(refuses),
            dependencies=[Depends(caller_of)] if token else [],
            route_class=DirectRoute if direct else APIRoute,
            include_in_schema=not hidden,
        )

    def at(self, method: str, path: str, refuses: Mapping[int, str] = _NONE, **options: Any) -> Callable[[H], H]:
        """Return a decorator that adds a route with the decorated function as its handler.

        Args:
            options: Options for FastAPI's `add_api_route`.
        """

        def add(handler: H) -> H:
            vars(handler)["__signature__"] = _signature(handler, {*_IN_PATH.findall(path)})
            self.add_api_route(path, handler, methods=[method], responses=documented(refuses), **options)
            return handler

        return add

    def file(
        self, path: str, read: Callable[[], bytes], media_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Add a route for a file that is the same for every caller (see `Document`)."""
        self.add_route(path, Document(read, media_type, headers).answer, ["GET"], include_in_schema=False)


def _signature(handler: Callable[..., Any], in_path: Collection[str]) -> inspect.Signature:
    """Return the signature of `handler` in the form that FastAPI needs.

    Args:
        in_path: The names of the path parameters.
    """
    hints = get_type_hints(handler, include_extras=True)
    written = inspect.signature(handler)
    parameters = [
        one.replace(annotation=_annotation(one.name, hints.get(one.name, one.annotation), in_path))
        for one in written.parameters.values()
    ]
    return written.replace(parameters=parameters, return_annotation=hints.get("return", written.return_annotation))


def _annotation(name: str, hint: Any, in_path: Collection[str]) -> Any:
    if hint is Caller:
        return Annotated[Caller, Depends(caller_of)]
    if name not in in_path or name not in PATH_NAMES:
        return hint
    return Annotated[hint, Path(description=PATH_NAMES[name].description, examples=[PATH_NAMES[name].example])]
