"""Inference's composition root."""

from __future__ import annotations

import asyncio
from pathlib import Path

from inference.api import inference_router
from inference.consumer import ConversationEvents
from inference.detector import Detector
from inference.encoders import sentence_encoder
from inference.gate_answers import GateAnswers
from inference.gate_answers_postgres import PostgresGateAnswers
from inference.llm_asking import Asking
from inference.llm_endpoint import LlmEndpoint
from inference.llm_gate import LlmGate
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresStore
from inference.turn_events import JudgementEvents
from inference.turn_index_postgres import PostgresTurnIndex
from inference.turn_vectors import TurnVectors
from inference.turn_vectors_postgres import take_bytes
from servicekit.clock import Clock
from servicekit.database import open_pool
from servicekit.service import Service, Surroundings


async def build(settings: InferenceSettings, surroundings: Surroundings) -> Service:
    """The service, connected to its database and ready to start."""
    service = Service("inference", surroundings)
    # Opened first and so closed last: a question cut off by our own stop must not be settled as unanswered.
    endpoint = _open_endpoint(settings, service)
    migrations = Path(__file__).parent / "migrations"
    pool = await open_pool(settings.database_url, "inference", migrations, say=surroundings.say, init=take_bytes)
    service.resources.push_async_callback(pool.close)
    encoder = await asyncio.to_thread(sentence_encoder, settings.sentence_encoder, surroundings.say)
    detector = Detector.default(encoder)
    store, turns = PostgresStore(pool), await PostgresTurnIndex.over(pool, TurnVectors(detector.embedder))
    gate = _gate(settings, endpoint, PostgresGateAnswers(pool), detector, surroundings.clock) if endpoint else None
    service.consume("inference", ConversationEvents(store, turns, service.producer, detector, gate))
    service.consume("inference_status", JudgementEvents(turns))
    service.routers.append(inference_router(store, turns, detector, surroundings.clock, gate))
    return service


def _open_endpoint(settings: InferenceSettings, service: Service) -> LlmEndpoint | None:
    if not settings.gate_url:
        return None
    endpoint = LlmEndpoint(settings.gate_url, settings.gate_key.get_secret_value(), 2 * settings.gate_at_once)
    service.resources.push_async_callback(endpoint.close)
    return endpoint


def _gate(
    settings: InferenceSettings, endpoint: LlmEndpoint, answers: GateAnswers, detector: Detector, clock: Clock
) -> LlmGate:
    asking = Asking(endpoint, clock, seconds=settings.gate_seconds, at_once=settings.gate_at_once)
    return LlmGate(asking, answers, detector, model=settings.gate_model, seconds=settings.gate_batch_seconds)
