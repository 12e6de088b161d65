"""HTTP/1.1 connection: uvicorn's protocol with additional limits on size and time.

The code that uses the parser llhttp must handle three cases itself: a body after a request to switch protocols, large
trailers, and requests that arrive before earlier ones are answered. Also, uvicorn does not limit how long a client may
take to read a response.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import httptools
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from servicekit.web.connections import Connections, State
from servicekit.web.joined_writes import JoinedWrites
from servicekit.web.refusals import RETRY_SECONDS

HEAD_LIMIT: Final = 64 * 1024
"""Maximum number of consecutive request bytes outside a body: the head with its path, chunk headers, trailers."""
DISCARD_LIMIT: Final = 16 * 1024 * 1024
"""Maximum number of body bytes that are discarded after the response to their request."""
PIECE: Final = 2 * 1024
"""Maximum number of bytes that are parsed at once, which limits the pipelined requests in memory."""
HEALTH: Final = ("/health/live", "/health/ready")
_FULL: Final = "Too many connections are open; send this again later."
_FRAMING: Final = (b"content-length", b"transfer-encoding")


def _last_answer(status: bytes, sentence: str) -> bytes:
    """Return the bytes of an error response that announces that the connection will be closed."""
    body = json.dumps({"detail": sentence}).encode()
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


_UNREADABLE: Final = _last_answer(
    b"400 Bad Request", "This cannot be read as an HTTP request: it breaks the protocol, or its address is too long."
)
_TOO_LARGE: Final = _last_answer(
    b"431 Request Header Fields Too Large", f"The head of the request is larger than {HEAD_LIMIT} bytes."
)


class _Flow(FlowControl):
    """Flow control that does not resume reading while there are unparsed bytes."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class HttpConnection(HttpToolsProtocol):
    """HTTP/1.1 connection that is registered in `connections`."""

    transport: JoinedWrites  # type: ignore[assignment] # has all attributes of a transport
    flow: _Flow

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self.state: State | None = None
        self._connections = connections
        self._reserved = False
        self._unparsed = memoryview(b"")
        self._bodiless = 0
        """Consecutive bytes outside a body, compared with HEAD_LIMIT."""
        self._discarded = 0
        self._refusal: bytes | None = None
        """Last response, if received bytes cannot be parsed. It is sent after the responses to earlier requests."""
        self._broken: object = None
        """uvicorn's cycle of the request with a body that cannot be parsed."""
        self._in_head = self._in_message = self._ended = self._resumes = False

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        transport.set_write_buffer_limits(high=0)  # writing is paused as long as anything is unsent
        super().connection_made(JoinedWrites(transport, self._end))  # type: ignore[arg-type]
        self.flow = _Flow(self.transport)  # type: ignore[arg-type]
        self._reserved = not self._connections.opened(self)
        if self._reserved:
            self.app = Crowded(self.app)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.closed(self)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            self._discard(len(data))
            return
        self._unparsed = memoryview(bytes(self._unparsed) + data if self._unparsed else data)
        self._parse()
        self._settle()

    def eof_received(self) -> bool:  # type: ignore[override] # as asyncio has it
        """Keep the connection open if complete requests are still waiting for their responses."""
        self._ended = True
        self.transport.flush()
        return self._answers_after_end()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._settle()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._settle()

    # Callbacks of the parser and of responses.

    def on_message_begin(self) -> None:
        if not self._resumes:
            super().on_message_begin()
            self._in_head = self._in_message = True
            self._discarded = 0

    def on_url(self, url: bytes) -> None:
        if not self._resumes:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are dropped: nothing reads them, and they must not replace the head's fields
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._resumes:
            return
        if self.parser.get_method() == b"CONNECT":
            raise ValueError("not a proxy")
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):  # llhttp rejects some of them only after the application was called
            raise ValueError("not chunked alone")
        match self.parser.get_http_version():
            case "1.1":
                pass
            case "1.0":
                self.expect_100_continue = False  # an HTTP/1.0 client knows no interim response
            case _:
                raise ValueError("another version")
        super().on_headers_complete()
        self._in_head = False
        if self._reserved:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._bodiless = 0
        if self.cycle.response_complete:
            self._discard(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # the body is still to come
        self._in_message = False
        self._bodiless = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._refusal is not None and (not self.pipeline or self.pipeline[-1][0] is self._broken):
            self._end_with(self._refusal)
        super().on_response_complete()
        if not self.transport.is_closing():
            self._parse()
        if self._ended and not self._answers_after_end():
            self.transport.close()
        self._settle()

    # Parsing, closing and state.

    def shutdown(self) -> None:
        """Close the connection after the current response, because the server is stopping."""
        if self.state is State.END:
            self.abort()
        else:
            super().shutdown()

    def abort(self) -> None:
        self.transport.abort()

    @property
    def taken(self) -> int:
        return self.transport.taken

    @property
    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _parse(self) -> None:
        """Parse the received bytes in small pieces until a second request waits for its response."""
        while self._unparsed and not self.pipeline and not self.transport.is_closing():
            piece, self._unparsed = self._unparsed[:PIECE], self._unparsed[PIECE:]
            self._bodiless += len(piece)
            try:
                self._feed(piece)
            except httptools.HttpParserError:
                self._refuse(_UNREADABLE)
            if self._bodiless > HEAD_LIMIT:
                self._refuse(_TOO_LARGE)
            if self._refusal is not None or self._is_last():
                self._unparsed = memoryview(b"")
        self.flow.held = bool(self._unparsed)
        if self.flow.held:
            self.flow.pause_reading()
        elif not self.pipeline:
            self.flow.resume_reading()

    def _feed(self, piece: memoryview) -> None:
        """Parse `piece`. If a request offers to switch protocols, ignore the offer and parse the request's body.

        Raises HttpParserError.
        """
        try:
            self.parser.feed_data(piece)
            return
        except httptools.HttpParserUpgrade as offer:
            self._unparsed = memoryview(bytes(piece[offer.args[0] :]) + bytes(self._unparsed))
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in _FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._resumes = True
        try:
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
        finally:
            self._resumes = False

    def _refuse(self, answer: bytes) -> None:
        """Send `answer` as the last response, after the responses to earlier requests."""
        if self._refusal is not None:
            return
        self._refusal = answer
        if self._in_message and not self._in_head:
            self._broken = self.cycle
            if self.cycle.response_complete:
                self.transport.close()
            elif not self.pipeline:
                self._end_with(b"" if self.cycle.response_started else answer)
        elif not self._at_work:
            self._end_with(answer)

    def _end_with(self, answer: bytes) -> None:
        """Send the last response and close the connection.

        An application that is still responding sees a disconnected client.
        """
        self.pipeline.clear()
        if self._at_work:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(answer)
        self.transport.close()

    def _is_last(self) -> bool:
        """Return True if the connection closes after the current response, so that later requests get no response."""
        return self.cycle is not None and not self.cycle.keep_alive and not self._in_message

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > DISCARD_LIMIT:
            self._connections.too_large(self)

    def _answers_after_end(self) -> bool:
        """Return True if a complete request is still unanswered after the client has closed its side."""
        if self.transport.is_closing():
            return False
        is_whole = self._in_head or not self._in_message
        return bool(self.pipeline or self._unparsed or self._refusal) or (self._at_work and is_whole)

    def _end(self) -> None:
        """Close our side of the connection.

        If the client may still be sending, the received bytes are discarded, so that the client can read our response.
        """
        transport = self.transport
        if self._ended or not (self._in_message or self._unparsed or self._bodiless):
            transport.close_now()
        elif not transport.is_cut():
            self._unparsed = memoryview(b"")
            self.flow.held = False
            self.flow.resume_reading()
            transport.write_eof()
        self._settle()

    def _settle(self) -> None:
        """Report the state of this connection to the registry."""
        if self.flow.write_paused:
            state = State.READER
        elif self.transport.is_closing():
            state = State.END
        elif self._at_work:
            state = State.WORK
        elif self._in_message and not self._in_head:
            state = State.REST
        else:
            state = State.HEAD
        self._connections.enters(self, state)


class Crowded:
    """ASGI application for reserve connections: health checks go to `app`, other requests get 503."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        full = JSONResponse({"detail": _FULL}, 503, {"Retry-After": str(RETRY_SECONDS), "Connection": "close"})
        await (self._app if scope["path"] in HEALTH else full)(scope, receive, send)
