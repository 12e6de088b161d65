"""Resources of the inference service: database, detector, language model, and the objects built on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import asyncpg

from detector.detector import Detector
from inference.detector_setup import gate_of, open_detector, open_endpoint
from inference.erasure import InferenceErasures
from inference.handlers import ConversationHandler
from inference.llm_gate.gate import LlmGate
from inference.settings import InferenceSettings
from inference.store_postgres import PostgresConversationStore
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from servicekit.service import Service

SCHEMA = Path(__file__).parent / "sql" / "schema.sql"


@dataclass(frozen=True, slots=True)
class InferenceParts:
    """Open resources of the inference service.

    `reads` is the connection pool for HTTP requests. `gate` is None if no language model is configured.
    """

    settings: InferenceSettings
    service: Service
    pool: asyncpg.Pool
    reads: asyncpg.Pool
    detector: Detector
    vectors: TurnVectors
    turns: PostgresTurnIndex
    gate: LlmGate | None
    conversations: ConversationHandler
    erasures: InferenceErasures

    def user_reaction_handler(self) -> UserReactionHandler:
        return UserReactionHandler(self.turns)


async def open_parts(settings: InferenceSettings, service: Service) -> InferenceParts:
    """Open the database, the detector and the language model client of the service.

    Raises:
        StartError: A resource is missing or cannot be opened.
    """
    # Opened first, so that it is closed last: a question that a shutdown interrupts must not be stored as unanswered.
    endpoint = open_endpoint(settings, service.resources)
    pool = await service.open_database(settings.database_url, SCHEMA)
    reads = await service.open_reads(settings, SCHEMA)
    detector = await open_detector(settings, service.context.say)
    vectors = TurnVectors(detector.embedder)
    turns = PostgresTurnIndex(pool, vectors)
    gate = gate_of(settings, endpoint, pool, detector)
    conversations = ConversationHandler(PostgresConversationStore(pool), turns, service.producer, detector, gate)
    return InferenceParts(
        settings=settings,
        service=service,
        pool=pool,
        reads=reads,
        detector=detector,
        vectors=vectors,
        turns=turns,
        gate=gate,
        conversations=conversations,
        erasures=InferenceErasures(pool, turns, service.pseudonym_of),
    )
