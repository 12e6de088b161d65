"""Runs one of our programs with uvicorn's h11 protocol instead of ours, which has bounds.

python -m benchmarks.run_on_h11 MODULE [ARGUMENT ...]
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from servicekit.web import server


def _on_h11(*, connections: object, **options: Any) -> H11Protocol:
    return H11Protocol(**options)


if __name__ == "__main__":
    setattr(server, "HttpConnection", _on_h11)  # noqa: B010 # mypy lets nobody replace an imported class
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
