"""Redactor of events, which treats texts from the log and from HTTP alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from pydantic.alias_generators import to_camel
from pydantic_core import from_json

from redaction.masks import Recogniser, is_json, kept_values, redact_json, redacted
from redaction.presidio import open_presidio
from redaction.recognisers import (
    BOUNDARY,
    IBAN_LENGTHS,
    KEY,
    MAIL,
    PHONE,
    SEPARATOR,
    InvalidPattern,
    bounded,
    cards,
    encodable,
    ibans,
    pattern,
    recogniser,
)
from redaction.rules import Kind, RedactionRules

_RECOGNISERS: Final[dict[Kind, Callable[[], Recogniser]]] = {
    "card": lambda: cards,
    "iban": lambda: ibans,
    "key": lambda: bounded(KEY, "key"),
    "mail": lambda: recogniser(MAIL, "mail"),
    "phone": lambda: bounded(PHONE, "phone"),
}
_GAP: Final = re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", SEPARATOR).replace("&nbsp;", r"&nbsp;|\\[nrt]")
"""The separators in RE2's syntax. In JSON, line breaks and tabs are escaped."""
_DIGIT: Final = r"\p{Nd}"
_HINTS: Final[dict[Kind, str]] = {
    "card": rf"[2-68\x{{80}}-\x{{10ffff}}](?:{_GAP}{_DIGIT}){{12}}",
    "iban": rf"(?i:{'|'.join(sorted(IBAN_LENGTHS))}){_DIGIT}{_DIGIT}(?:{_GAP}[A-Za-z0-9]){{11}}",
    "key": f"{BOUNDARY}(?:{KEY})",
    "mail": "@",
    "phone": f"{BOUNDARY}(?:{PHONE})",
}
"""RE2 pattern by kind. A recogniser can find something only in an event that matches the pattern of its kind or
contains escaped characters."""
_ESCAPED: Final = r"\\[u/]"
_NAMES: Final = (
    *("event_id", "occurred_at", "given_at", "ts", "sequence", "version", "topic", "tenant", "project"),
    *("conversation_id", "thread_id", "turn_id", "message_id", "reply_to_message_id", "original_message_id"),
    *("post_id", "comment_id", "parent_comment_id", "author_id"),
    *("agent_message_id", "question_message_id", "sender_id", "user_id", "agent_id", "request_id"),
    *("track_id", "bundle_id", "trace_id", "agent_version", "model", "reviews"),
)
IDENTIFIERS: Final = frozenset((*_NAMES, *map(to_camel, _NAMES)))
"""Names of identifiers on the wire and in request bodies. They are never masked, because events with equal identifiers
are related, and equal masks would relate unrelated events."""
_KEPT: Final = kept_values(IDENTIFIERS)


class Redactor:
    """Redactor of events, configured by `rules`. It is deterministic and idempotent.

    Raises PresidioUnavailable if Presidio is configured but cannot be loaded.
    """

    def __init__(self, rules: RedactionRules) -> None:
        self._rules = rules
        kinds = sorted(rules.kinds)
        self._built_in = [_RECOGNISERS[kind]() for kind in kinds]
        self._hints = pattern("|".join((_ESCAPED, *(_HINTS[kind] for kind in kinds)))) if kinds else None
        self._presidio: tuple[Recogniser, ...] = ()
        if rules.presidio_language:
            self._presidio = (open_presidio(rules.presidio_language, rules.presidio_entities),)
        self._reads_all = bool(rules.patterns or rules.patterns_of or self._presidio)
        self._recognisers_in = cache(self._recognisers_of)

    @property
    def is_off(self) -> bool:
        return self._hints is None and not self._reads_all

    def redact(self, value: bytes, project: str | None = None) -> tuple[bytes, Counter[str]]:
        """Return the JSON `value` with its texts redacted, and the number of masks by kind.

        Args:
            project: The project as `tenant/project`. By default, it is read from the event.
        """
        if not self._reads_all and not self._has_hint(value):
            return value, Counter()
        hint, recognisers = self._recognisers_in(self._place_of(value) if project is None else project)

        def redact_text(text: str) -> tuple[str, Counter[str]]:
            if hint is not None and hint.search(encodable(text)) is None:
                return text, Counter()
            return redacted(text, recognisers, self._presidio)

        return redact_json(value, redact_text, IDENTIFIERS)

    def _has_hint(self, value: bytes) -> bool:
        """Return True if the built-in recognisers may find something in `value`.

        Identifiers are removed before the check, because most UUIDs look like something to redact.
        """
        if self._hints is None:
            return False
        if self._hints.search(_KEPT.sub(b'""', value)) is not None:
            return True
        # In what is not JSON, identifiers are redacted too. Parsing takes less time than the search.
        return not is_json(value) and self._hints.search(value) is not None

    def _recognisers_of(self, project: str) -> tuple[Any, Sequence[Recogniser]]:
        """Return the recognisers of `project`, or those of all projects if `project` is empty.

        Returns:
            A pattern and the recognisers. Only texts that match the pattern need to be passed to the recognisers. The
                pattern is None if all texts must be passed to them.
        """
        own = {(name, source) for name, source in self._rules.patterns_in(project).items()}
        if not project:
            for other in self._rules.patterns_of:
                own |= self._rules.patterns_in(other).items()
        recognisers = [*self._built_in, *(recogniser(source, name) for name, source in sorted(own))]
        if self._presidio or not recognisers:
            return None, recognisers
        hints = [*(_HINTS[kind] for kind in sorted(self._rules.kinds)), *(source for _, source in sorted(own))]
        try:
            return pattern("|".join(f"(?:{hint})" for hint in hints)), recognisers
        except InvalidPattern:  # the combined pattern is too large
            return None, recognisers

    def _place_of(self, value: bytes) -> str:
        """Return the event's project as `tenant/project`, or "/" if the project has no patterns of its own.

        The result is empty if the project is uncertain.
        """
        if not self._rules.patterns_of:
            return "/"
        try:
            event: Any = from_json(value)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(event, dict) or value.count(b'"tenant"') != 1 or value.count(b'"project"') != 1:
            return ""
        project = f"{event.get('tenant')}/{event.get('project')}"
        return project if project in self._rules.patterns_of else "/"
