"""Detection of a lost broker during a batch run. Without it the services would wait forever."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any, Final, Never, TypeVar

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from servicekit.log.cluster import Bootstrap, client_options

T = TypeVar("T")
PROBE_SECONDS: Final = 2.0
"""Interval between two probes, and the timeout of one probe."""


class BrokerLost(Exception):
    """The broker stopped answering during a batch run."""


async def while_answered(work: Coroutine[Any, Any, T], bootstrap: Bootstrap, seconds: float) -> T:
    """Return the result of `work`. Raises BrokerLost if the broker stops answering for `seconds` before `work` ends."""
    task, watch = asyncio.create_task(work), asyncio.create_task(_watched(bootstrap, seconds))
    try:
        done, _ = await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        logging.disable()  # otherwise the services' shutdown errors would bury the reason
        return watch.result()
    finally:
        task.cancel()
        watch.cancel()


async def _watched(bootstrap: Bootstrap, seconds: float) -> Never:
    """Probe the broker until cancelled. Raises BrokerLost once it has not answered for `seconds`."""
    answered = time.monotonic()
    while True:
        if await _answers(bootstrap):
            answered = time.monotonic()
        elif time.monotonic() - answered >= seconds:
            raise BrokerLost(
                f"The broker at {bootstrap} has not answered for {seconds:.0f} s: stopped before the end of the input."
            )
        await asyncio.sleep(PROBE_SECONDS)


async def _answers(bootstrap: Bootstrap) -> bool:
    """Return True if the broker answers a metadata request."""
    admin = AIOKafkaAdminClient(**client_options(bootstrap), request_timeout_ms=int(PROBE_SECONDS * 1000))
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            await admin.start()
            return True
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await admin.close()
