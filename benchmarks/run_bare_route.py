"""A FastAPI route on the same HTTP server that reads the same body and does nothing: the upper limit of the rate.

python -m benchmarks.run_bare_route --port PORT
"""

from __future__ import annotations

import asyncio
import sys

import uvloop
from fastapi import FastAPI
from pydantic import BaseModel

from contracts.base import Reaction
from servicekit.garbage_collection import tune_gc
from servicekit.web.server import HttpServer


class Judged(BaseModel):
    reaction: Reaction | None
    text: str | None = None
    tags: list[str] = []


async def serve(port: int) -> None:
    app = FastAPI(docs_url=None, redoc_url=None)

    @app.get("/health/ready")
    async def ready() -> dict[str, str]:
        return {"status": "ready"}

    @app.post("/feedback", status_code=202)
    async def judge(body: Judged) -> dict[str, str | None]:
        return {"reaction": body.reaction}

    await HttpServer("127.0.0.1", port).start(app)
    tune_gc()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[-1])))
