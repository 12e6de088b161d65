"""Server of inference's HTTP routes on an existing database, for `turn_index`. Runs until it is stopped.

python -m benchmarks.run_detect DATABASE_URL TOKEN --port PORT
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

import inference.service
import inference.sql
from detector.detector import Detector
from inference.api import inference_router
from inference.detection import Detection
from inference.store import ConversationStore
from inference.turns.store import TurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.clock import SystemClock
from servicekit.db.pools import open_pool
from servicekit.garbage_collection import tune_gc
from servicekit.web.application import application, guarded
from servicekit.web.auth import AccessToken
from servicekit.web.server import HttpServer


async def ready() -> str | None:
    return None


async def serve(url: str, port: int, token: str) -> None:
    pool = await open_pool(url, "inference", inference.sql.SQL.schema)
    detector = Detector.default()
    turns = TurnIndex(pool, TurnVectors(detector.embedder))
    authenticator = AccessToken(token)
    app = application(ready)
    detection = Detection(ConversationStore(pool), turns, detector)
    app.include_router(inference_router(detection, turns, SystemClock()))
    await HttpServer("127.0.0.1", port).start(guarded(app, authenticator))
    tune_gc()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[-1]), sys.argv[2]))
