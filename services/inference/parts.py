"""Resources of the inference service: database, detector, language model, and the objects built on them."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from inference.detection import Detection
from inference.detector_setup import gate_of, open_detector, open_endpoint
from inference.handlers import ConversationHandler
from inference.judging import Judging
from inference.settings import InferenceSettings
from inference.sql import SQL
from inference.store import ConversationStore
from inference.turns.search import TurnSearch
from inference.turns.store import TurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from servicekit.service import Service

SCHEMA = SQL.schema


@dataclass(frozen=True, slots=True)
class InferenceParts:
    """Objects of the inference service, built on its open resources.

    `search` and `detection` serve HTTP requests, through a connection pool of their own.
    """

    settings: InferenceSettings
    service: Service
    pool: asyncpg.Pool
    conversations: ConversationHandler
    reactions: UserReactionHandler
    turns: TurnIndex
    search: TurnSearch
    detection: Detection


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
    turns, search = TurnIndex(pool, vectors), TurnSearch(reads, vectors)
    gate = gate_of(settings, endpoint, pool, detector, service.context.clock)
    return InferenceParts(
        settings,
        service,
        pool,
        conversations=ConversationHandler(ConversationStore(pool), Judging(turns, service.producer, detector, gate)),
        reactions=UserReactionHandler(turns),
        turns=turns,
        search=search,
        detection=Detection(ConversationStore(reads), search, detector, gate),
    )
