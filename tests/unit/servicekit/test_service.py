"""Resources that the parts of a service share or do not share."""

from __future__ import annotations

from servicekit.service import Service, ServiceContext
from tests.support.unit_handlers import NoWork


async def test_dead_letters_have_a_producer_of_their_own() -> None:
    """A failed producer is replaced. Records that HTTP accepts meanwhile must not be lost with it."""
    service = Service("chat_bridge", ServiceContext("localhost:1"))
    service.consume("chat_bridge", NoWork())
    letters = service.subscriptions[0].delivery._letters
    assert letters is not service.producer
    assert letters is not service.batch_producer
