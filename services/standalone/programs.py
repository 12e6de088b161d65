"""The programs of all services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import chat_bridge.service
import feedback.service
import inference.service
import reporting.service
from servicekit.definition import ServiceDefinition

PROGRAMS: Final[Sequence[ServiceDefinition[Any]]] = (
    chat_bridge.service.PROGRAM,
    feedback.service.PROGRAM,
    inference.service.PROGRAM,
    reporting.service.PROGRAM,
)
