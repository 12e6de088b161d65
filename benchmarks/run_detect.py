"""Inference's HTTP alone, on a database that is there, until it is ended: what `turn_index` measures.

python -m benchmarks.run_detect DATABASE_URL PORT TOKEN
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvloop

import inference.main
from inference.api import inference_router
from inference.detector import Detector
from inference.store_postgres import PostgresStore
from inference.turn_index_postgres import PostgresTurnIndex
from inference.turn_vectors import TurnVectors
from inference.turn_vectors_postgres import take_bytes
from servicekit.auth import AccessToken
from servicekit.clock import SystemClock
from servicekit.collector import look_seldom
from servicekit.database import open_pool
from servicekit.http import HttpServer
from standalone.web import application, guarded


async def ready() -> str | None:
    return None


async def serve(url: str, port: int, token: str) -> None:
    pool = await open_pool(url, "inference", Path(inference.main.__file__).parent / "migrations", init=take_bytes)
    detector = Detector.default()
    turns = await PostgresTurnIndex.over(pool, TurnVectors(detector.embedder))
    authenticator = AccessToken(token)
    app = application(authenticator, ready)
    app.include_router(inference_router(PostgresStore(pool), turns, detector, SystemClock()))
    await HttpServer("127.0.0.1", port).start(guarded(app, authenticator, ()))
    look_seldom()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
