"""Delivery of announcements by HTTP or e-mail, with a time limit and only to permitted addresses."""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from functools import partial
from typing import Final

import structlog

from contracts.instants import SECOND
from reporting.alerts.messages import Announcement
from reporting.alerts.notifiers import NOTIFIERS
from reporting.alerts.page_channels import ChannelLocked, PageChannels
from reporting.alerts.settings_file import AlertSettings, EmailChannel, OpenChannel, PageSlackChannel
from reporting.alerts.store import AlertMessages, AlertReceiver, WaitingMessage
from reporting.egress import metrics
from reporting.egress.webhooks.addresses import NotAllowed, address_of
from reporting.egress.webhooks.courier import ATTEMPT_SECONDS
from reporting.egress.webhooks.schedule import next_attempt
from reporting.egress.webhooks.sending import AttemptResult, CheckedHttp
from reporting.queries.selection import Project
from servicekit import Clock

AT_ONCE: Final = 2
"""Maximum number of concurrent attempts per channel of a project."""
RECEIVERS_AT_ONCE: Final = 4
"""Maximum number of channels per tenant that are served concurrently."""
NO_CHANNEL: Final = AttemptResult("no_channel", gone=True)
"""Result for a message whose channel was removed."""
LOCKED: Final = "wrong_secret_key"
"""Result recorded for a message whose channel cannot be decrypted with REPORTING_SECRET_KEY."""
LOCKED_SECONDS: Final = 60
"""Seconds until a message is retried if its channel cannot be decrypted."""
log = structlog.get_logger(part="alerts")


class AlertCourier:
    """Delivers queued alert messages.

    Delivery errors are recorded without secrets instead of being raised. Each channel of a project has its own task, so
    that a slow channel does not delay the messages of other tenants.
    """

    def __init__(
        self,
        settings: AlertSettings,
        messages: AlertMessages,
        clock: Clock,
        seconds: float = ATTEMPT_SECONDS,
        page_channels: PageChannels | None = None,
    ) -> None:
        self._settings = settings
        self._page_channels = page_channels
        self._messages = messages
        self._clock = clock
        self._seconds = seconds
        self._http = CheckedHttp(seconds)
        self._tasks: dict[AlertReceiver, asyncio.Task[None]] = {}
        self._failure: BaseException | None = None
        self._of_tenant: defaultdict[str | None, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(RECEIVERS_AT_ONCE)
        )

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await self.sent()
        await self._http.close()

    async def deliver(self) -> None:
        """Start sending all messages that are due.

        Failed messages are retried on the same schedule as webhooks. After a crash, a message may be sent twice.

        If a delivery task has failed since the last call, for example because the database was unavailable, its
        exception is raised here.
        """
        for receiver in await self._messages.due(self._clock.now()):
            if receiver not in self._tasks:
                task = asyncio.create_task(self._deliver_to(receiver))
                self._tasks[receiver] = task
                task.add_done_callback(partial(self._ended, receiver))
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def sent(self) -> None:
        """Wait until all running delivery tasks have ended."""
        if self._tasks:
            await asyncio.wait([*self._tasks.values()])

    async def _deliver_to(self, receiver: AlertReceiver) -> None:
        """Send all due messages of one receiver."""
        due = True
        while due:
            async with self._of_tenant[receiver.tenant]:
                due = await self._deliver_some(receiver)

    def _ended(self, receiver: AlertReceiver, task: asyncio.Task[None]) -> None:
        del self._tasks[receiver]
        if not task.cancelled():
            self._failure = task.exception() or self._failure

    async def _deliver_some(self, receiver: AlertReceiver) -> bool:
        """Send up to AT_ONCE due messages of a receiver. Returns False if none are due."""
        now = self._clock.now()
        due = await self._messages.claim(receiver, now, now + int(2 * self._seconds * SECOND), AT_ONCE)
        # If one message raises an error, the other attempts still end and their outcomes are stored.
        ended = await asyncio.gather(*(self._hand_over(one) for one in due), return_exceptions=True)
        for outcome in ended:
            if outcome is not None:
                raise outcome
        return bool(due)

    async def send(self, channel: OpenChannel, id_: str, one: Announcement) -> AttemptResult:
        """Make one attempt to send an announcement."""
        now = self._clock.now()
        if isinstance(channel.settings, PageSlackChannel) and one.link.startswith("/"):
            one = replace(
                one, link=channel.settings.address + one.link
            )  # Without a file, only the channel has a base URL.
        made = NOTIFIERS[type(channel.settings)](channel, id_, one, now)
        if isinstance(made, EmailMessage):
            assert isinstance(channel.settings, EmailChannel)
            return await send_mail(channel.settings, channel.secret, made, self._seconds)
        return await self._http.post(made.url, made.body, made.headers, private=channel.settings.private)

    async def _channel(self, one: WaitingMessage) -> OpenChannel | None:
        """Look up the current channel for a message, because it may have changed since the message was queued.

        Returns:
            The channel, or None if it was removed.
        """
        tenant, project = one.announcement.tenant, one.announcement.project
        at = None if tenant is None or project is None else Project(tenant, project)
        found = self._settings.channels.get(one.channel)
        if found is not None and found.settings.serves(at):
            return found
        return None if at is None or self._page_channels is None else await self._page_channels.find(at, one.channel)

    async def _hand_over(self, one: WaitingMessage) -> None:
        try:
            channel = await self._channel(one)
        except ChannelLocked:
            # Without an attempt, the message does not become dead: it waits for the right key.
            await self._messages.postponed(one, self._clock.now() + LOCKED_SECONDS * SECOND, LOCKED)
            log.error("alert_channel_locked", why="REPORTING_SECRET_KEY does not decrypt a channel set on the page")
            return
        label = metric_label(channel)
        result = NO_CHANNEL if channel is None else await self.send(channel, str(one.id), one.announcement)
        if result.delivered:
            await self._messages.delivered(one)
            metrics.ALERT_MESSAGES.labels(label, "delivered").inc()
            return
        again_at = None
        if not result.gone:
            again_at = next_attempt(one.attempts + 1, self._clock.now(), result.retry_after, 0.0)
        await self._messages.failed(one, again_at, result.what)
        outcome = "dead" if again_at is None else "failed"
        metrics.ALERT_MESSAGES.labels(label, outcome).inc()
        log.warning(f"alert_message_{outcome}", channel=one.channel, attempt=one.attempts + 1, answer=result.what)


def metric_label(channel: OpenChannel | None) -> str:
    """Return the metric label of a channel.

    A channel in the alerts file has its name as label. All channels set on the alerts page share one label.
    """
    if channel is None or isinstance(channel.settings, PageSlackChannel):
        return metrics.OTHER_CHANNELS
    return channel.settings.name


async def send_mail(settings: EmailChannel, password: str, message: EmailMessage, seconds: float) -> AttemptResult:
    """Make one attempt to send an e-mail by SMTP.

    The host name is resolved only once. The connection then uses the resolved address, if that address is permitted.
    """
    try:
        async with asyncio.timeout(seconds):
            address = await address_of(settings.host, settings.port, private=settings.private)
            attempt = _MailAttempt(settings, password, address, message, seconds)
            # Use a separate thread, because the event loop's threads also resolve host names for other receivers.
            thread = ThreadPoolExecutor(1)
            try:
                await asyncio.get_running_loop().run_in_executor(thread, attempt.send)
            finally:
                attempt.abort()
                thread.shutdown(wait=False)
    except NotAllowed:
        return AttemptResult("private_address")
    except TimeoutError:
        return AttemptResult("timeout")
    except smtplib.SMTPResponseException as error:
        return AttemptResult(str(error.smtp_code))
    except (smtplib.SMTPException, OSError, ValueError) as error:
        return AttemptResult(type(error).__name__)
    return AttemptResult("delivered", delivered=True)


class _Smtp(smtplib.SMTP):
    """SMTP client that connects to a given address but verifies the certificate against the host name."""

    def __init__(self, host: str, port: int, address: str, seconds: float) -> None:
        self._address = address
        super().__init__(host, port, local_hostname="localhost", timeout=seconds)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return socket.create_connection((self._address, port), timeout)


class _SmtpTls(smtplib.SMTP_SSL, _Smtp):
    def __init__(self, host: str, port: int, address: str, seconds: float, context: ssl.SSLContext) -> None:
        self._address = address
        smtplib.SMTP_SSL.__init__(self, host, port, local_hostname="localhost", timeout=seconds, context=context)


class _MailAttempt:
    """An attempt to send an e-mail. Another thread can abort it.

    The server does not deliver an e-mail that it has not received completely.
    """

    def __init__(
        self, settings: EmailChannel, password: str, address: str, message: EmailMessage, seconds: float
    ) -> None:
        self._settings = settings
        self._password = password
        self._address = address
        self._message = message
        self._seconds = seconds
        self._client: smtplib.SMTP | None = None
        self._aborted = False

    def abort(self) -> None:
        """Shut down the connection. Does nothing if no connection is open."""
        self._aborted = True
        connection = None if self._client is None else self._client.sock
        if connection is not None:
            with suppress(OSError):
                # `SSLSocket.shutdown` first drops the encryption, so the sending thread could write plain text.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def send(self) -> None:
        """Send the e-mail.

        Raises:
            smtplib.SMTPException, OSError, ValueError: If the e-mail cannot be sent.
        """
        context = ssl.create_default_context()
        client = self._connect(context)
        try:
            self._client = client
            if self._settings.security == "starttls":
                client.starttls(context=context)
            # `abort` finds no connection before it is open or during the STARTTLS handshake.
            if self._aborted:
                raise TimeoutError
            if self._settings.user is not None:
                client.login(self._settings.user, self._password)
            client.send_message(self._message)
            # The server has accepted the e-mail, so ignore errors of QUIT.
            with suppress(OSError, smtplib.SMTPException):
                client.putcmd("QUIT")
        finally:
            client.close()

    def _connect(self, context: ssl.SSLContext) -> smtplib.SMTP:
        host, port = self._settings.host, self._settings.port
        if self._settings.security == "tls":
            return _SmtpTls(host, port, self._address, self._seconds, context)
        return _Smtp(host, port, self._address, self._seconds)
