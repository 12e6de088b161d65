"""Inference's composition root."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import asyncpg

from detector.detector import Detector
from detector.encoders.choice import sentence_encoder
from detector.encoders.minilm_files import ModelMissing
from inference import api, where
from inference.api import inference_router
from inference.detector_group import LOOK_SECONDS, DetectorGroup
from inference.erasure import InferenceErasures
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.llm_gate.asking import Asking
from inference.llm_gate.endpoint import LlmEndpoint
from inference.llm_gate.gate import LlmGate
from inference.llm_gate.store import GateAnswers
from inference.llm_gate.store_postgres import PostgresGateAnswers
from inference.retention import expiries
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresStore
from inference.turns.search_postgres import PostgresTurnSearch
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from inference.turns.vectors_postgres import take_bytes
from servicekit.clock import Clock, SystemClock
from servicekit.errors import StartError
from servicekit.launcher import Program
from servicekit.log.erasing import ErasingHandler
from servicekit.log.journal import Journal, JournalingHandler, JournalReader
from servicekit.log.messages import Producer
from servicekit.log.reach import Reach, read_up
from servicekit.pseudonyms import ErasureSettings, Pseudonyms
from servicekit.service import Periodic, Service, ServiceContext
from servicekit.settings import read_settings
from servicekit.web.application import Surface
from servicekit.web.journal import WhereLookup, where_router
from servicekit.web.permissions import merged

MIGRATIONS = Path(__file__).parent / "migrations"


async def build(settings: InferenceSettings, context: ServiceContext) -> Service:
    """Build the service, connected to its database and ready to start."""
    service = Service("inference", context)
    # Opened first, so it is closed last: a question that our own stop interrupts must not be stored as unanswered.
    endpoint = _open_endpoint(settings, service.resources)
    pool = await service.open_database(settings.database_url, MIGRATIONS, init=take_bytes)
    service.expire(pool, expiries(settings))
    detector = await open_detector(settings, context.say)
    vectors = TurnVectors(detector.embedder)
    store, turns = PostgresStore(pool), await PostgresTurnIndex.over(pool, vectors)
    gate = _gate(settings, endpoint, PostgresGateAnswers(pool), detector, context.clock) if endpoint else None
    erasures = InferenceErasures(pool, turns, Pseudonyms(read_settings(ErasureSettings)))
    events = ConversationHandler(store, turns, service.producer, detector, gate)
    group = DetectorGroup(pool, events.judging.version, lambda: events.judging.judged)
    service.every(Periodic("detectors", LOOK_SECONDS, group.look, delay=LOOK_SECONDS))
    service.watched.append(lambda: group.warnings)
    erasing = ErasingHandler(events, erasures, service.producer, "inference")
    journal = Journal(pool)
    service.consume("inference", JournalingHandler(erasing, journal, where.is_noted))
    reach = Reach(service.subscriptions[-1], context.bootstrap)
    service.resources.push_async_callback(reach.close)
    reactions = ErasingHandler(UserReactionHandler(turns), erasures, service.producer, "inference")
    service.consume("inference_status", JournalingHandler(reactions, journal, where.is_noted))
    reads = await service.open_reads(settings, MIGRATIONS)
    lookup = WhereLookup(JournalReader(reads), verdicts=partial(where.judged, reads))
    service.lookups["where inference"] = lookup
    service.routers += [
        where_router(where.PATH, lookup, "inference"),
        inference_router(
            PostgresStore(reads),
            PostgresTurnSearch(reads, vectors),
            detector,
            context.clock,
            gate,
            partial(read_up, reach, context.clock, settings.index_seconds),
        ),
    ]
    return service


async def open_detector(settings: InferenceSettings, say: Callable[[str], None]) -> Detector:
    """Return the detector that the settings name. Raises StartError if its sentence encoder is missing."""
    try:
        encoder = await asyncio.to_thread(sentence_encoder, settings.sentence_encoder, say)
    except ModelMissing as error:
        raise StartError(str(error)) from error
    if encoder is None and settings.sentence_encoder == "auto":
        say(
            "The sentence encoder is not on this machine, so messages are judged by words alone, less surely:"
            " fetch it with `agent-feedback encoder`."
        )
    return Detector.default(encoder)


async def open_judging(
    settings: InferenceSettings,
    pool: asyncpg.Pool,
    producer: Producer,
    detector: Detector,
    resources: AsyncExitStack,
) -> Judging:
    """Return a judge of the messages in `pool`'s index for use outside of the service, with its gate if configured."""
    endpoint = _open_endpoint(settings, resources)
    gate = _gate(settings, endpoint, PostgresGateAnswers(pool), detector, SystemClock()) if endpoint else None
    turns = await PostgresTurnIndex.over(pool, TurnVectors(detector.embedder))
    return Judging(PostgresStore(pool), turns, producer, detector, gate)


def _open_endpoint(settings: InferenceSettings, resources: AsyncExitStack) -> LlmEndpoint | None:
    if not settings.gate_url:
        return None
    endpoint = LlmEndpoint(settings.gate_url, settings.gate_key.get_secret_value(), 2 * settings.gate_at_once)
    resources.push_async_callback(endpoint.close)
    return endpoint


def _gate(
    settings: InferenceSettings, endpoint: LlmEndpoint, answers: GateAnswers, detector: Detector, clock: Clock
) -> LlmGate:
    asking = Asking(endpoint, clock, seconds=settings.gate_seconds, at_once=settings.gate_at_once)
    return LlmGate(asking, answers, detector, model=settings.gate_model, seconds=settings.gate_batch_seconds)


PERMISSIONS = merged(api.PERMISSIONS, where.PERMISSIONS)
PROGRAM = Program("inference", InferenceSettings, build, Surface(PERMISSIONS))
"""Program that runs the service alone."""
