"""Redactor of events, which treats texts from the log and from HTTP alike. No I/O.

Only strings with something to redact change in a JSON text, all other bytes stay as sent. Parsing the JSON and writing
it again would lose repeated names and digits of large numbers. Editing the bytes in place also keeps an invalid event
invalid, so that it is still rejected.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from typing import Any, Final

from pydantic.alias_generators import to_camel
from pydantic_core import from_json

from redaction.presidio import open_presidio
from redaction.recognisers import (
    BOUNDARY,
    IBAN_LENGTHS,
    KEY,
    MAIL,
    PHONE,
    SEPARATOR,
    WHOLE,
    InvalidPattern,
    Kind,
    MaskedSpan,
    Recogniser,
    RedactionRules,
    bounded,
    cards,
    encodable,
    ibans,
    pattern,
    recogniser,
)

ROUNDS_LIMIT: Final = 8
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


def mask(kind: str, length: int) -> str:
    """Return the mask for a text of `length` characters.

    It is never longer than the text, so masking cannot exceed a length limit.
    """
    name = f"[{kind}]"
    return name if len(name) <= length else "*" * length


def joined(spans: Iterable[MaskedSpan]) -> list[MaskedSpan]:
    """Sort spans by position and merge overlapping ones. A merged span has the kind of the first."""
    result: list[MaskedSpan] = []
    for span in sorted(spans, key=lambda candidate: (candidate.start, -candidate.end, candidate.kind)):
        if span.end <= span.start:
            continue
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def redacted(text: str, recognisers: Sequence[Recogniser], once: Sequence[Recogniser] = ()) -> tuple[str, Counter[str]]:
    """Return `text` with the recognisers' matches replaced by masks, and the number of masks by kind.

    A mask may create another match next to it, so the search is repeated until nothing is found. If there are still
    matches after ROUNDS_LIMIT rounds, the whole text is masked.

    Args:
        once: Recognisers that run only in the first round.
    """
    counts: Counter[str] = Counter()
    looking = [*recognisers, *once]
    for _ in range(ROUNDS_LIMIT):
        spans = joined(span for recogniser in looking for span in recogniser(text))
        if not spans:
            return text, counts
        counts.update(span.kind for span in spans)
        text, looking = _masked(text, spans), [*recognisers]
    if any(True for recogniser in recognisers for _ in recogniser(text)):
        return mask(WHOLE, len(text)), counts + Counter({WHOLE: 1})
    return text, counts


def _masked(text: str, spans: Iterable[MaskedSpan]) -> str:
    parts: list[str] = []
    position = 0
    for span in spans:
        parts += text[position : span.start], mask(span.kind, span.end - span.start)
        position = span.end
    return "".join((*parts, text[position:]))


Redact = Callable[[str], tuple[str, Counter[str]]]
_TOKEN: Final = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*(:\s*)?|-?(\d{13,19})(?![\d.eE])', re.DOTALL)


def kept_values(kept: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern for the parts of a JSON text that `redact_json` leaves unchanged.

    It matches each name in `kept` together with its string value.

    Values with a backslash do not match. In valid JSON, the pattern matches nothing else, because an unescaped quote
    begins or ends a string, and no letter can follow the end of a string. Matching takes linear time.
    """
    names = "|".join(re.escape(name) for name in sorted(kept))
    # The pattern begins with the quote, because `re` looks for a literal beginning faster.
    return re.compile(rf'"(?<!\\")(?:{names})"\s*:\s*"[^"\\]*"'.encode())


def redact_json(value: bytes, redact: Redact, kept: Container[str]) -> tuple[bytes, Counter[str]]:
    """Return the JSON `value` with its strings redacted, and the number of masks by kind.

    Long integers are redacted like strings. So are the names in objects, except those that consist only of letters. If
    `value` is not JSON, it is redacted as a single text.

    Args:
        kept: The names whose values stay unchanged.
    """
    if not is_json(value):
        clean, masks = redact(value.decode("utf-8", "surrogateescape"))
        return (clean.encode("utf-8", "surrogateescape") if masks else value), masks
    counts: Counter[str] = Counter()
    parts: list[bytes] = []
    position = 0
    name, value_at = "", -1
    for token in _TOKEN.finditer(value):
        is_kept = token.start() == value_at and name in kept
        number = token[3]
        text = number.decode() if number else _text_of(token[1])
        if token[2] is not None:
            name, value_at = text, token.end()
            is_kept = text.isalpha()
        if is_kept or (number and not _stands_alone(value, token.start())):
            continue
        clean, masks = redact(text)
        if not masks:
            continue
        counts += masks
        end = token.start(1) + len(token[1]) + 1 if number is None else token.end()
        parts += value[position : token.start()], _literal(clean)
        position = end
    return b"".join((*parts, value[position:])) if parts else value, counts


def _text_of(literal: bytes) -> str:
    if b"\\" in literal:
        try:
            text: str = json.loads(b'"%s"' % literal, strict=False)
        except ValueError:
            pass
        else:
            return text
    return literal.decode("utf-8", "replace")


def _literal(text: str) -> bytes:
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(text).encode()


def _stands_alone(value: bytes, position: int) -> bool:
    """Return True if a number begins at `position`, with no digit, point or exponent directly before it."""
    return value[position - 1 : position] not in _NUMERIC


_NUMERIC: Final = frozenset(bytes([digit]) for digit in b"0123456789.eE+-")


def is_json(value: bytes) -> bool:
    """Return True if `value` is JSON. Lone surrogates in strings are allowed."""
    # `json.loads` also accepts lone surrogates, which may occur next to escaped characters.
    for parse in (from_json, json.loads):
        try:
            parse(value)
        except (ValueError, RecursionError):
            continue
        return True
    return False


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
