"""Handlers of all consumer groups without a log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

import chat_bridge.parts
import feedback.store_choice
import inference.parts
import reporting.read_models
from chat_bridge.handlers import ChatHandler
from chat_bridge.parking import Parking
from chat_bridge.store_postgres import PostgresMessageStore
from contracts.instants import DAY
from detector.detector import Detector
from feedback.handlers import FEEDBACK_TOPICS, FeedbackHandler
from feedback.registry_postgres import PostgresRegistry
from feedback.reward import DEFAULT_REWARDS
from feedback.store_postgres import PostgresStore
from feedback.turn_erasures import TurnErasures
from feedback.turns import TURN_TOPICS, TurnHandler
from inference.erasure import InferenceErasures
from inference.handlers import ConversationHandler
from inference.store_postgres import PostgresConversationStore
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.user_reactions import UserReactionHandler
from inference.turns.vectors import TurnVectors
from reporting.read_models.erasure import ReportingErasures
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.clock import SystemClock
from servicekit.db.database import LedgeredErasures
from servicekit.db.pools import open_pool
from servicekit.log.delivery import GroupOutcomes
from servicekit.log.handler import ErasingHandler, Handler, TopicHandlers
from servicekit.log.records import Producer

Watch = Callable[[asyncpg.Connection], Awaitable[None]]


class Groups:
    """Handlers of the groups, each with its own pools. They are connected as in the services.

    `derived` writes chat_bridge's records, `inferred` those of inference, `announced` those of feedback. `watch` is
    called with each connection to the database.
    """

    def __init__(
        self, url: str, detector: Detector, derived: Producer, inferred: Producer, announced: Producer, watch: Watch
    ) -> None:
        self._url, self._detector, self._watch = url, detector, watch
        self.derived, self.inferred, self.announced = derived, inferred, announced

    @asynccontextmanager
    async def _pool(self, schema: str, module: Any) -> AsyncIterator[Any]:
        async def init(connection: asyncpg.Connection) -> None:
            await self._watch(connection)

        pool = await open_pool(self._url, schema, module.SCHEMA, init=init, plan="indexed")
        try:
            yield pool
        finally:
            await pool.close()

    @asynccontextmanager
    async def chat_bridge(self) -> AsyncIterator[Handler]:
        async with self._pool("chat_bridge", chat_bridge.parts) as pool:
            store, clock = PostgresMessageStore(pool), SystemClock()
            parking = Parking(store, self.derived, clock, DAY, GroupOutcomes("chat_bridge", self.derived))
            handler = ChatHandler(store, self.derived, parking, clock)
            ledger = LedgeredErasures(pool, store.erase)
            yield ErasingHandler(handler, ledger, self.derived, "chat_bridge", is_guarded=True)

    @asynccontextmanager
    async def inference(self) -> AsyncIterator[Handler]:
        async with self._pool("inference", inference.parts) as pool:
            turns = PostgresTurnIndex(pool, TurnVectors(self._detector.embedder))
            handler = ConversationHandler(PostgresConversationStore(pool), turns, self.inferred, self._detector)
            erase = InferenceErasures(pool, turns, lambda person: person.user_id).erase
            yield ErasingHandler(handler, LedgeredErasures(pool, erase), self.inferred, "inference", is_guarded=True)

    @asynccontextmanager
    async def feedback(self) -> AsyncIterator[Handler]:
        async with self._pool("feedback", feedback.store_choice) as pool:
            turns = TurnHandler(PostgresRegistry(pool), TurnErasures(pool, lambda person: person.user_id))
            handler = FeedbackHandler(PostgresStore(pool), self.announced, DEFAULT_REWARDS)
            yield TopicHandlers({turns: TURN_TOPICS, handler: FEEDBACK_TOPICS})

    @asynccontextmanager
    async def inference_status(self) -> AsyncIterator[Handler]:
        async with self._pool("inference", inference.parts) as pool:
            yield UserReactionHandler(PostgresTurnIndex(pool, TurnVectors(self._detector.embedder)))

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[Handler]:
        async with self._pool("reporting", reporting) as pool:
            handler = ProjectionHandler(PostgresReadModels(pool))
            erasures = LedgeredErasures(pool, ReportingErasures(pool).erase)
            yield ErasingHandler(handler, erasures, self.announced, "reporting", is_guarded=True)
