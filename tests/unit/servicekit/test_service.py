"""Resources that the parts of a service share, and those that they do not."""

from __future__ import annotations

from unit_handlers import NoWork

from servicekit.service import Service, ServiceContext


async def test_dead_letters_have_a_producer_of_their_own() -> None:
    """One that fails is thrown away and made anew: what HTTP takes in meanwhile must not go with it."""
    service = Service("chat_bridge", ServiceContext("localhost:1"))
    service.consume("chat_bridge", NoWork())
    letters = service.subscriptions[0].delivery._letters
    assert letters is not service.producer
    assert letters is not service.batch_producer
