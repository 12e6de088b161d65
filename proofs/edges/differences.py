"""Intended differences from the reference, by name. Any other difference is a bug."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from proofs.edges.cases import Case
from proofs.edges.observed import Observed, Request

Applies = Callable[[Case, Observed, Observed], bool]
_ABSOLUTE: Final = re.compile(rb"^[A-Za-z]+://[^/?#]*|#.*")
REFUSALS: Final = (400, 431)


def _sent(pattern: bytes) -> Applies:
    """Return a condition that applies if the client's bytes match."""
    compiled = re.compile(pattern, re.DOTALL)
    return lambda case, _, __: compiled.search(case.sent) is not None


def _has(*features: str) -> Applies:
    """Return a condition that applies if the grammar gave the case one of `features`."""
    return lambda case, _, __: not case.features.isdisjoint(features)


def _hosts(case: Case, ours: Observed, reference: Observed) -> bool:
    taken = ours.requests[len(reference.requests) :]
    if not taken:  # its body has not arrived
        return not case.features.isdisjoint(("no host", "bytes changed"))
    return sum(name == b"host" for name, _ in taken[0].headers) != 1


ACCEPTED: Final[Mapping[str, Applies]] = {
    "no host, or several: no route depends on it": _hosts,
    "empty lines before a request, as RFC 9112 recommends": _sent(rb"^[\r\n]|\n\r?\n\r?\n|\n[A-Z]+ [^ ]+ +HTTP/"),
    "spaces around the target": _sent(rb"[A-Z]+( +[^ ]+  +| +  [^ ]+ +)HTTP/"),
}
"""Requests that we accept and the reference rejects."""

REFUSED: Final[Mapping[str, Applies]] = {
    "a line that ends without a carriage return": _has("bare line feeds"),
    "a folded header": _has("folded header"),
    "several lengths, even if they agree": _has("two lengths", "list of lengths", "odd length"),
    "a length and chunks": _has("length and chunked"),
    "a coding other than chunked": _has("odd coding"),
    "a framing header among the trailers": _has("framing in trailers"),
    "a method without meaning here": _has("odd method"),
    "a target that is neither a path nor an address": _has("odd target"),
    "another version": _has("odd version"),
    "a control character, or a space, in a header": _has("odd header"),
    "a head or trailers without end, even if they come at once": _has("trailer flood", "head flood", "long header"),
    "white space in a chunk's framing": _has("odd chunk size", "odd chunk end"),
    "damaged bytes, of which less is let through": _has("bytes changed"),
}
"""Requests that we reject and the reference accepts."""

HALF_CLOSE: Final = "a client that sends no more still gets its responses"
TARGET: Final = "a target stands for its path, whatever host and fragment it names"
STATUS: Final = "431 for a head without end"
NAMES: Final = (*ACCEPTED, *REFUSED, HALF_CLOSE, TARGET, STATUS)


def differences(case: Case, ours: Observed, reference: Observed) -> list[str] | None:
    """Return the names of the intended differences, or None if there is another one."""
    names: list[str] = []
    ours, reference = _without_unanswered(ours), _without_unanswered(reference)
    if (ours.lost and not case.half_close) or ours.statuses.count(200) != len(ours.requests):
        return None
    plain = [_with_path(one) for one in reference.requests]
    if plain != reference.requests:
        names.append(TARGET)
        reference = replace(reference, requests=plain)
    if _outcome(ours) == _outcome(reference):
        return names
    if case.half_close:
        if _begins(ours.requests, reference.requests) and _begins(ours.statuses, reference.statuses):
            return [*names, HALF_CLOSE]
        reference = replace(reference, ended=True)
        ours = replace(ours, ended=True)
    if ours.requests == reference.requests and _as_400(ours.statuses) == reference.statuses:
        return [*names, STATUS]
    refused = ours.ended and (ours.statuses[-1:] in ([400], [431]) or _is_of_a_rest(ours))
    if refused and _begins(reference.requests, ours.requests):
        found = _named(names, REFUSED, case, ours, reference)
        if found is not None:
            return found
    if reference.ended and reference.statuses[-1:] == [400] and _begins(ours.requests, reference.requests):
        return _named(names, ACCEPTED, case, ours, reference)
    return None


def _named(
    names: list[str], table: Mapping[str, Applies], case: Case, ours: Observed, reference: Observed
) -> list[str] | None:
    found = next((name for name, applies in table.items() if applies(case, ours, reference)), None)
    return None if found is None else [*names, found]


def _outcome(observed: Observed) -> tuple[object, ...]:
    return observed.requests, observed.statuses, observed.ended


def _is_of_a_rest(observed: Observed) -> bool:
    """Return True if the last request got its response before its body, which may then be invalid."""
    return observed.requests[-1:] != [] and observed.requests[-1].body is None


def _without_unanswered(observed: Observed) -> Observed:
    """Omit requests whose response was due before their body arrived, if the body was rejected before that response
    was sent."""
    requests = list(observed.requests)
    while len(requests) > observed.statuses.count(200) and requests[-1].body is None:
        requests.pop()
    return replace(observed, requests=requests)


def _as_400(statuses: list[int]) -> list[int]:
    return [400 if status in REFUSALS else status for status in statuses]


def _begins(whole: list[Request] | list[int], part: list[Request] | list[int]) -> bool:
    return whole[: len(part)] == part


def _with_path(request: Request) -> Request:
    path = _ABSOLUTE.sub(b"", request.path)
    return request if path == request.path else replace(request, path=path or b"/")
