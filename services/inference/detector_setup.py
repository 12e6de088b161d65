"""Construction of the detector, the language model gate and `Judging`, for the service and for `rejudge`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from chat_completions.endpoint import LlmEndpoint
from detector.detector import Detector
from detector.encoders.choice import how_to_add_encoder, sentence_encoder
from detector.encoders.embedder import WordLlamaEmbedder
from detector.encoders.minilm_files import ModelMissing
from inference.judging import Judging
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate
from inference.llm_gate.store import GateAnswers
from inference.llm_gate.store_postgres import PostgresGateAnswers
from inference.settings import InferenceSettings
from inference.timed_network import TimedNetwork
from inference.turns.store_postgres import PostgresTurnIndex
from inference.turns.vectors import TurnVectors
from servicekit.clock import Clock
from servicekit.errors import StartError
from servicekit.log.messages import Producer


async def open_detector(settings: InferenceSettings, say: Callable[[str], None]) -> Detector:
    """Build the configured detector.

    Args:
        say: Called with a message for the operator if the sentence encoder is optional and missing.

    Raises:
        StartError: The settings require a sentence encoder that is not on this machine.
    """
    try:
        encoder = await asyncio.to_thread(sentence_encoder, settings.sentence_encoder, say)
    except ModelMissing as error:
        raise StartError(str(error)) from error
    if encoder is None and settings.sentence_encoder == "auto":
        say(
            "The sentence encoder is not on this machine, so patterns judge alone and find less."
            f" To add it: {how_to_add_encoder()}."
        )
    network = encoder.exchanges if encoder else None
    return Detector(WordLlamaEmbedder(), TimedNetwork(network) if network else None)


async def open_judging(
    settings: InferenceSettings,
    pool: asyncpg.Pool,
    connection: Any,
    producer: Producer,
    detector: Detector,
    clock: Clock,
    resources: AsyncExitStack,
) -> Judging:
    """Build a `Judging` that stores verdicts through `connection`, for use outside the service.

    It asks a language model if one is configured, and stores its answers through `pool`.
    """
    endpoint = open_endpoint(settings, resources)
    gate = gate_of(settings, endpoint, PostgresGateAnswers(pool), detector, clock) if endpoint else None
    turns = PostgresTurnIndex(connection, TurnVectors(detector.embedder))
    return Judging(turns, producer, detector, gate)


def open_endpoint(settings: InferenceSettings, resources: AsyncExitStack) -> LlmEndpoint | None:
    """Open a client for the language model, or return None if none is configured."""
    if not settings.gate_url:
        return None
    endpoint = LlmEndpoint(settings.gate_url, settings.gate_key.get_secret_value(), 2 * settings.gate_at_once)
    resources.push_async_callback(endpoint.close)
    return endpoint


def gate_of(
    settings: InferenceSettings, endpoint: LlmEndpoint, answers: GateAnswers, detector: Detector, clock: Clock
) -> LlmGate:
    """Build a gate that asks the language model at `endpoint` and stores its answers in `answers`."""
    asking = Asking(endpoint, clock, seconds=settings.gate_seconds, at_once=settings.gate_at_once)
    return LlmGate(asking, answers, detector, model=settings.gate_model, seconds=settings.gate_batch_seconds)
