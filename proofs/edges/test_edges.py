"""Some hundred cases of `make edges`, and a check that the comparison detects a difference."""

from __future__ import annotations

import logging
from typing import Any

import httptools
import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from proofs.edges.differences import NAMES
from proofs.edges.observed import Ours
from proofs.edges.run import compare

CASES = 500


@pytest.fixture(autouse=True)
def silent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL + 1, "uvicorn.error")


async def test_requests_of_any_form_are_treated_as_the_reference_treats_them() -> None:
    comparison = await compare(7, CASES)
    assert comparison.cases == CASES
    assert not comparison.findings, "\n".join(map(str, comparison.findings[:3]))
    assert set(comparison.named) <= set(NAMES)


class LosesOfferedBodies(Ours):
    """Treats the bytes after an offer of another protocol as that protocol, like llhttp."""

    def _feed(self, piece: Any) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self._in_message = False
            self.cycle.more_body = False
            self.cycle.message_event.set()


class TakesTrailersForHeaders(Ours):
    def on_header(self, name: bytes, value: bytes) -> None:
        HttpToolsProtocol.on_header(self, name, value)


class LosesResponsesAfterTheEnd(Ours):
    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio has it
        return False


class EndsAfterDamage(Ours):
    """Closes the connection at an unreadable request, although an earlier one waits for its response."""

    def _refuse(self, answer: bytes) -> None:
        self.abort()


@pytest.mark.parametrize(
    "planted", [LosesOfferedBodies, TakesTrailersForHeaders, LosesResponsesAfterTheEnd, EndsAfterDamage]
)
async def test_a_planted_difference_is_found(planted: type[Ours]) -> None:
    assert (await compare(7, 200, planted)).findings
