"""The last step of every source: chat events checked as the consumers check them, then written to the log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chat_bridge.ingest import IngestProject, check_line
from servicekit.failures import Unavailable
from servicekit.http.log_writer import LogFull, LogWriter
from servicekit.http.refusals import refusal_of
from servicekit.kafka.producer import Message
from servicekit.logging import logger

log = logger("chat_bridge")


async def publish(events: Sequence[Mapping[str, Any]], place: IngestProject, intake: LogWriter, source: str) -> str:
    """Write those of `events` that are sound. Returns `published`, `ignored` (there were none) or `refused` (all).

    Raises the refusal that has the platform send its request again: 429, 503.
    """
    messages: list[Message] = []
    for event in events:
        line = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
        checked = check_line(line, place)
        if isinstance(checked, Message):
            messages.append(checked)
        else:
            log.warning("source_event_refused", source=source, reason=checked[0])
    if messages:
        try:
            await intake.write(messages)
        except (LogFull, Unavailable) as error:
            raise refusal_of(error) from None
        return "published"
    return "refused" if events else "ignored"
