"""Requests as clients may write them, valid or not, from a seeded grammar."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

READS, ANSWERS_EARLY = b"/read", b"/early"
"""Paths of an application that reads the whole body, and of one that responds before it reads."""


@dataclass(frozen=True)
class Case:
    """Input of one client: it sends `pieces` in order, then waits, or closes its side if `half_close`."""

    number: int
    pieces: tuple[bytes, ...]
    half_close: bool
    features: frozenset[str]

    @property
    def sent(self) -> bytes:
        return b"".join(self.pieces)


@dataclass
class _Draft:
    rng: random.Random
    features: set[str] = field(default_factory=set)

    def has(self, feature: str, likelihood: float) -> bool:
        """Decide if the case has `feature`, and note it."""
        found = self.rng.random() < likelihood
        if found:
            self.features.add(feature)
        return found


def case_of(seed: int, number: int) -> Case:
    """Return the case of that number, always the same for a seed."""
    draft = _Draft(random.Random(f"{seed}/{number}"))
    rng = draft.rng
    requests = [_request(draft) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    if len(requests) > 1:
        draft.features.add("pipelined")
    sent = b"".join(requests)
    if draft.has("cut short", 0.06):
        sent = sent[: rng.randrange(1, len(sent) + 1)]
    if draft.has("bytes changed", 0.05):
        sent = _changed(rng, sent)
    return Case(number, _pieces(rng, sent), draft.has("half-close", 0.15), frozenset(draft.features))


def _request(draft: _Draft) -> bytes:
    rng = draft.rng
    method = rng.choice((b"GET", b"POST", b"POST", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"HEAD"))
    if draft.has("odd method", 0.03):
        method = rng.choice((b"CONNECT", b"PRI", b"get", b"FROB", b"G\x00T", b"", b"TRACE", b"PURGE"))
    headers, body = _framed(draft, method)
    headers += [_header(draft) for _ in range(rng.choice((0, 1, 2, 4)))]
    if not draft.has("no host", 0.03):
        headers.append(b"Host: x")
    for feature, likelihood, lines in _EXTRAS:
        if draft.has(feature, likelihood):
            headers += lines(rng)
    rng.shuffle(headers)
    end = b"\n" if draft.has("bare line feeds", 0.02) else b"\r\n"
    before = end * rng.randrange(1, 3) if draft.has("empty lines before", 0.03) else b""
    return before + end.join([_first_line(draft, method), *headers, b"", b""]) + body


def _first_line(draft: _Draft, method: bytes) -> bytes:
    rng = draft.rng
    target = rng.choice((READS, READS, READS, ANSWERS_EARLY)) + rng.choice((b"", b"", b"?q=1", b"/a%2Fb", b"/%ff?%00"))
    if draft.has("absolute form", 0.04):
        target = b"http://x" + target
    if draft.has("odd target", 0.03):
        target = rng.choice((b"*", b"x:80", b"", b"/read#f", b"/read\xc3\xa9", b"//read", b"/re ad", b"http://", b"?"))
    version = b"HTTP/1.1"
    if draft.has("HTTP/1.0", 0.06):
        version = b"HTTP/1.0"
    if draft.has("odd version", 0.02):
        version = rng.choice((b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.2", b"http/1.1", b"HTTP/1", b"HTTP/1.10", b""))
    space = b"  " if draft.has("two spaces", 0.02) else b" "
    return method + b" " + target + space + version


def _framed(draft: _Draft, method: bytes) -> tuple[list[bytes], bytes]:
    """Return the header lines that frame a body, and the body."""
    rng = draft.rng
    body = rng.randbytes(rng.choice((0, 1, 10, 300, 5_000)))
    if draft.has("large body", 0.02):
        body = rng.randbytes(200_000)
    if method in (b"GET", b"HEAD", b"OPTIONS") and rng.random() < 0.8:
        return [], b""
    if draft.has("chunked", 0.4):
        lines = [rng.choice((b"Transfer-Encoding: chunked", b"transfer-encoding:Chunked"))]
        if draft.has("length and chunked", 0.04):
            lines.append(b"Content-Length: %d" % len(body))
        if draft.has("odd coding", 0.04):
            odd = (b"gzip, chunked", b"identity", b"chunked, chunked", b"xchunked", b"chunked;a=1", b"")
            lines = [b"Transfer-Encoding: " + rng.choice(odd)]
        return lines, _chunks(draft, body)
    length = b"%d" % len(body)
    if draft.has("odd length", 0.04):
        length = rng.choice((b"-1", b"+1", b"1e1", b"", b"0x10", b"9" * 25, b"1 1", b"\xb2", b"00" + length))
    lines = [b"Content-Length: " + length]
    if draft.has("two lengths", 0.03):
        lines.append(b"Content-Length: " + rng.choice((length, b"5")))
    if draft.has("list of lengths", 0.02):
        lines = [b"Content-Length: %s, %s" % (length, rng.choice((length, b"5")))]
    return lines, body


def _chunks(draft: _Draft, body: bytes) -> bytes:
    rng = draft.rng
    parts = bytearray()
    at = 0
    while at < len(body):
        size = rng.choice((1, 7, 100, 4_096, 70_000)) if at < 100 else len(body)
        chunk = body[at : at + size]
        at += size
        extension = b";a=b" if draft.has("chunk extension", 0.05) else b""
        number = rng.choice((b"%x", b"%X", b"00%x")) % len(chunk)
        if draft.has("odd chunk size", 0.01):
            number = rng.choice((b"", b"-1", b"g", b"0x1", b" 1", b"1 ", b"f" * 20, b"1_0"))
        end = b"\r\n" if not draft.has("odd chunk end", 0.01) else rng.choice((b"\n", b"", b"xx", b"\r\r\n"))
        parts += number + extension + b"\r\n" + chunk + end
    parts += rng.choice((b"0\r\n", b"000\r\n"))
    if draft.has("trailers", 0.12):
        parts += b"".join(_header(draft) + b"\r\n" for _ in range(rng.randrange(1, 4)))
    if draft.has("framing in trailers", 0.02):
        parts += rng.choice((b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: y\r\n"))
    if draft.has("trailer flood", 0.01):
        parts += b"X-Flood: 1\r\n" * 20_000
    return bytes(parts + b"\r\n")


def _header(draft: _Draft) -> bytes:
    rng = draft.rng
    name = rng.choice((b"X-A", b"x-b", b"Accept", b"Cookie", b"Content-Type", b"X-A"))
    value = rng.choice((b"1", b"a, b", b"", b" padded \t", b"\xe4\xf6", b"x" * 300, b'"q"'))
    if draft.has("folded header", 0.02):
        value += b"\r\n" + rng.choice((b" more", b"\tmore", b" "))
    if draft.has("odd header", 0.03):
        return rng.choice(_ODD_HEADERS)
    return name + b":" + rng.choice((b" ", b"", b"\t")) + value


_ODD_HEADERS = (
    *(b"no colon", b": no name", b"sp ace: 1", b"X-A : 1", b"X\x00: 1", b"X: \x00", b"X: a\rb", b"X(: 1"),
    *(b" X: 1", b"X\xe4: 1", b"X: \x7f", b"X: a\x0bb"),
)
_EXTRAS: tuple[tuple[str, float, Callable[[random.Random], list[bytes]]], ...] = (
    ("h2c offer", 0.05, lambda _: [b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMA"]),
    (
        "other offer",
        0.04,
        lambda rng: [
            rng.choice((b"Connection: upgrade", b"Connection: keep-alive, Upgrade", b"X-A: 1")),
            b"Upgrade: " + rng.choice((b"websocket", b"TLS/1.0", b"foo, h2c", b"")),
        ],
    ),
    ("close", 0.08, lambda rng: [b"Connection: " + rng.choice((b"close", b"Close", b"foo, close"))]),
    ("keep-alive", 0.05, lambda _: [b"Connection: keep-alive"]),
    ("expect", 0.06, lambda rng: [b"Expect: " + rng.choice((b"100-continue", b"100-Continue", b"200-ok"))]),
    ("head flood", 0.01, lambda rng: [b"X-Flood: 1"] * rng.choice((1_000, 20_000))),
    ("long header", 0.01, lambda rng: [b"X-Long: " + b"x" * rng.choice((10_000, 200_000))]),
)


def _changed(rng: random.Random, sent: bytes) -> bytes:
    changed = bytearray(sent)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(min(len(changed), 400))
        kind = rng.randrange(3)
        if kind == 0:
            changed[at] = rng.randrange(256)
        elif kind == 1:
            changed[at:at] = rng.choice((b"\r", b"\n", b"\x00", b" ", b":", b"\r\n"))
        elif len(changed) > 1:
            del changed[at]
    return bytes(changed)


def _pieces(rng: random.Random, sent: bytes) -> tuple[bytes, ...]:
    """Return `sent` in one piece, or split at a few places."""
    cuts = sorted({rng.randrange(len(sent)) for _ in range(rng.choice((0, 0, 1, 3, 8)))} - {0}) if sent else []
    return tuple(sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True))
