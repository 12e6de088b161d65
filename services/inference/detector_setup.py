"""Construction of the detector and the language model gate, for the service and for `rejudge`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import asyncpg

from chat_completions.endpoint import LlmEndpoint
from detector.detector import Detector
from detector.encoders.choice import how_to_add_encoder, sentence_encoder
from detector.encoders.minilm_files import ModelMissing
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate
from inference.llm_gate.store import GateAnswers
from inference.settings import InferenceSettings
from servicekit.clock import Clock
from servicekit.errors import StartError


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
            "The sentence encoder is not on this machine, so words and patterns judge alone and find less."
            f" To add it: {how_to_add_encoder()}."
        )
    return Detector.default(encoder)


def open_endpoint(settings: InferenceSettings, resources: AsyncExitStack) -> LlmEndpoint | None:
    """Open a client for the language model, or return None if none is configured."""
    if not settings.gate_url:
        return None
    endpoint = LlmEndpoint(settings.gate_url, settings.gate_key.get_secret_value(), 2 * settings.gate_at_once)
    resources.push_async_callback(endpoint.close)
    return endpoint


def gate_of(
    settings: InferenceSettings, endpoint: LlmEndpoint | None, pool: asyncpg.Pool, detector: Detector, clock: Clock
) -> LlmGate | None:
    """Build the gate that asks the language model at `endpoint` and stores its answers through `pool`.

    Returns None if there is no endpoint.
    """
    if endpoint is None:
        return None
    asking = Asking(endpoint, clock, seconds=settings.gate_seconds, at_once=settings.gate_at_once)
    answers = GateAnswers(pool)
    return LlmGate(asking, answers, detector, model=settings.gate_model, seconds=settings.gate_batch_seconds)
