"""Inference's composition root."""

from __future__ import annotations

import asyncio
from pathlib import Path

from inference.api import inference_router
from inference.consumer import ConversationEvents
from inference.detector import Detector
from inference.encoders import sentence_encoder
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresStore
from inference.turn_events import JudgementEvents
from inference.turn_index_postgres import PostgresTurnIndex
from servicekit.database import open_pool
from servicekit.service import Service, Surroundings


async def build(settings: InferenceSettings, surroundings: Surroundings) -> Service:
    """The service, connected to its database and ready to start."""
    service = Service("inference", surroundings)
    pool = await open_pool(
        settings.database_url, "inference", Path(__file__).parent / "migrations", say=surroundings.say
    )
    service.resources.push_async_callback(pool.close)
    encoder = await asyncio.to_thread(sentence_encoder, settings.sentence_encoder, surroundings.say)
    store, turns, detector = PostgresStore(pool), PostgresTurnIndex(pool), Detector.default(encoder)
    service.consume("inference", ConversationEvents(store, turns, service.producer, detector))
    service.consume("inference_status", JudgementEvents(turns))
    service.routers.append(inference_router(store, turns, detector, surroundings.clock))
    return service
