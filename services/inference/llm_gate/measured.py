"""Detector with the language model behind it, to measure what the model adds on rows with known labels."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from chat_completions.endpoint import LlmEndpoint
from detector.detector import Detector
from detector.model import Neighbourhood, Target, Verdict
from inference.llm_gate.asking import Asking
from inference.llm_gate.gate import LlmGate, PendingVerdict
from inference.model import ConversationKey
from servicekit.clock import Clock

#: Deadline of a question and of all questions, in seconds. A measurement may take longer than a verdict.
SECONDS: Final = 60.0
ALL_SECONDS: Final = 24 * 3600.0
CONCURRENT: Final = 8
_NOWHERE: Final = ConversationKey("", "", "")


class GatedDetector:
    """Detector whose open verdicts a language model decides.

    Args:
        url: Base URL of the endpoint, up to `/v1`.
        model: Name of the language model.
        key: Bearer token, if the endpoint requires one.
    """

    def __init__(self, detector: Detector, clock: Clock, url: str, model: str, key: str) -> None:
        self._detector, self._clock = detector, clock
        self._url, self._model, self._key = url, model, key

    def judge(self, items: Sequence[Neighbourhood]) -> list[Verdict]:
        """Judge messages and return one verdict for each, in the same order."""
        verdicts = zip(items, self._detector.judge(items), strict=True)
        return asyncio.run(self._settled([PendingVerdict(_NOWHERE, item, verdict) for item, verdict in verdicts]))

    def locate(self, item: Neighbourhood) -> tuple[Target, ...]:
        """Return the most probable targets of a message, which the language model does not change."""
        return self._detector.locate(item)

    async def _settled(self, pending: Sequence[PendingVerdict]) -> list[Verdict]:
        endpoint = LlmEndpoint(self._url, self._key, CONCURRENT)
        try:
            asking = Asking(endpoint, self._clock, seconds=SECONDS, at_once=CONCURRENT)
            gate = LlmGate(asking, None, self._detector, model=self._model, seconds=ALL_SECONDS)
            return await gate.settle(pending)
        finally:
            await endpoint.close()
