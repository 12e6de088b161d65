"""Access to the log to which an import writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from servicekit.errors import LogUnavailable
from servicekit.log.cluster import cluster_at
from servicekit.log.messages import Producer
from servicekit.log.redacting import RedactingProducer
from servicekit.redaction.redactor import Redactor
from servicekit.redaction.settings import RedactionSettings
from servicekit.settings import read_settings
from standalone.errors import DependencyLost
from standalone.operations.data_import import DryRunLog
from standalone.operations.log_access import LogTarget, target_of, writing_to


@asynccontextmanager
async def import_log(broker: str | None, state: Path, *, dry_run: bool) -> AsyncIterator[Producer]:
    """Yield a producer that redacts judgements and writes to the given broker, or else to the running `up`.

    In a dry run, the producer writes nothing.

    Raises:
        StartError: The log is not available at the start.
        DependencyLost: The log stops responding later.
    """
    if dry_run:
        yield DryRunLog()
        return
    target = LogTarget(cluster_at(broker), "") if broker else target_of(None, state)
    try:
        redactor = Redactor(read_settings(RedactionSettings))
        async with writing_to(target) as producer:
            yield RedactingProducer(producer, redactor)
    except LogUnavailable as error:
        raise DependencyLost(f"The log did not answer ({error}). Run the same command again: it goes on.") from None
