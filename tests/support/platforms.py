"""Platforms that send their events, with secret, signature and one payload each."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

MAPS = Path(__file__).parents[2] / "examples" / "webhooks"
SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAMS_KEY = base64.b64encode(b"a key of twenty-four byte").decode()
TELEGRAM_TOKEN = "telegram-token-of-the-tests"
DISCORD_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRETS = {
    "CHAT_BRIDGE_SLACK_SIGNING_SECRET": SLACK_SECRET,
    "ZENDESK_SIGNING_SECRET": "zendesk-secret",
    "INTERCOM_CLIENT_SECRET": "intercom-secret",
    "TEAMS_RELAY_SECRET": f"whsec_{TEAMS_KEY}",
    "DISCORD_PUBLIC_KEY": DISCORD_KEY.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex(),
    "TELEGRAM_SECRET_TOKEN": TELEGRAM_TOKEN,
    "WHATSAPP_APP_SECRET": "whatsapp-secret",
}
ENVIRONMENT = SECRETS | {"CHAT_BRIDGE_WEBHOOK_MAPS": str(MAPS)}
Headers = Mapping[str, str]


def _mac(key: str, text: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(key.encode(), text, getattr(hashlib, algorithm)).digest()


def _slack(body: bytes, at: str) -> Headers:
    signature = _mac(SLACK_SECRET, f"v0:{at}:".encode() + body).hex()
    return {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={signature}"}


def _zendesk(body: bytes, at: str) -> Headers:
    signature = base64.b64encode(_mac("zendesk-secret", at.encode() + body)).decode()
    return {"x-zendesk-webhook-signature": signature, "x-zendesk-webhook-signature-timestamp": at}


def _intercom(body: bytes, _: str) -> Headers:
    return {"x-hub-signature": f"sha1={_mac('intercom-secret', body, 'sha1').hex()}"}


def _teams(body: bytes, at: str) -> Headers:
    digest = hmac.new(base64.b64decode(TEAMS_KEY), f"msg_1.{at}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": "msg_1", "webhook-timestamp": at, "webhook-signature": signature}


def _discord(body: bytes, at: str) -> Headers:
    return {"x-signature-ed25519": DISCORD_KEY.sign(at.encode() + body).hex(), "x-signature-timestamp": at}


def _whatsapp(body: bytes, _: str) -> Headers:
    return {"x-hub-signature-256": f"sha256={_mac('whatsapp-secret', body).hex()}"}


def _telegram(_: bytes, __: str) -> Headers:
    return {"x-telegram-bot-api-secret-token": TELEGRAM_TOKEN}


@dataclass(frozen=True)
class Platform:
    """A source: its address, its signature and the header that contains it, and a payload with one message.

    `dated`: its signature covers a time. `covers_body`: it covers the body, unlike a token.
    """

    path: str
    sign: Callable[[bytes, str], Headers]
    signature: str
    message: Any
    dated: bool = True
    covers_body: bool = True

    def headers(self, body: bytes, at: float | None = None) -> dict[str, str]:
        """Return the headers of a request, signed at Unix time `at` (default: now)."""
        stamp = str(int(time.time() if at is None else at))
        return {"content-type": "application/json", **self.sign(body, stamp)}


PLATFORMS: Mapping[str, Platform] = {
    "slack": Platform("/sources/slack/events", _slack, "x-slack-signature", {
        "type": "event_callback", "team_id": "T1", "event_id": "Ev1",
        "event": {"type": "message", "channel": "C9", "user": "U1", "text": "private words", "ts": "1700000000.000000"},
    }),
    "zendesk": Platform("/sources/webhooks/zendesk", _zendesk, "x-zendesk-webhook-signature", {
        "type": "zen:event-type:ticket.comment_added", "time": "2025-01-08T10:12:07Z", "detail": {"id": "5158"},
        "event": {"comment": {"id": "1", "is_public": True, "body": "private words",
                              "author": {"id": "4961", "is_staff": False}}},
    }),
    "intercom": Platform("/sources/webhooks/intercom", _intercom, "x-hub-signature", {
        "topic": "conversation.user.created",
        "data": {"item": {"id": "147", "created_at": 1400850973,
                          "source": {"id": "4", "body": "<p>private words</p>", "author": {"id": "u1"}}}},
    }, dated=False),
    "teams": Platform("/sources/webhooks/teams", _teams, "webhook-signature", {
        "type": "message", "id": "9", "timestamp": "2024-01-01T10:00:00Z", "from": {"id": "29:ann"},
        "conversation": {"id": "19:x"}, "text": "private words",
    }),
    "discord": Platform("/sources/webhooks/discord", _discord, "x-signature-ed25519", {
        "version": 1, "application_id": "1234567765431056709", "type": 1,
        "event": {"type": "LOBBY_MESSAGE_CREATE", "timestamp": "2024-10-18T18:41:21.109604", "data": {
            "id": "1397729799727878254", "type": 0, "content": "private words", "lobby_id": "1397729744753266719",
            "channel_id": "1397729744753266719", "author": {"id": "80351110224678912", "username": "ann"},
            "flags": 65536}},
    }),
    "telegram": Platform("/sources/webhooks/telegram", _telegram, "x-telegram-bot-api-secret-token", {
        "update_id": 1, "message": {"message_id": 9, "date": 1700000000, "text": "private words",
                                    "from": {"id": 5, "is_bot": False}, "chat": {"id": -9, "type": "group"}},
    }, dated=False, covers_body=False),
    "whatsapp": Platform("/sources/webhooks/whatsapp", _whatsapp, "x-hub-signature-256", {
        "object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages", "value": {
            "messaging_product": "whatsapp",
            "messages": [{"from": "46701", "id": "wamid.9", "timestamp": "1700000000", "type": "text",
                          "text": {"body": "private words"}}]}}]}],
    }, dated=False),
}  # fmt: skip


def as_body(payload: Any) -> bytes:
    """Return `payload` as a request's body; bytes stay as they are."""
    return payload if isinstance(payload, bytes) else json.dumps(payload, ensure_ascii=False).encode()
