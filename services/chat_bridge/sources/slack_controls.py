"""Conversion of clicks on Slack's feedback buttons, and of the reasons given in a modal, to judgements. No I/O.

Slack puts a `feedback_buttons` element under an answer, with two values that the app chooses. A modal in which the app
asks for the reason names the answer in its `private_metadata`, as JSON:
`{"channel": "C1", "message_ts": "1700000000.000100", "judgement": "not_ok"}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from pydantic_core import from_json

from chat_bridge.sources.slack import Agents, ChatEvent, conversation_of, object_in, reaction_of, text_in
from chat_bridge.sources.source import Dropped, NotUnderstood
from contracts.base import TEXT_LIMIT
from contracts.ids import derived_id


def interaction_in(body: bytes) -> bytes:
    """Return the JSON of a request from Slack: the field `payload` of a form, or the body itself."""
    if not body.startswith(b"payload="):
        return body
    return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10).get("payload", [""])[0].encode()


def judgements(payload: Mapping[str, Any], agents: Agents) -> Sequence[ChatEvent | Dropped]:
    """Return the judgements in a `block_actions` or `view_submission` payload.

    Raises:
        NotUnderstood: The payload lacks a documented field.
    """
    if payload.get("type") == "view_submission":
        return [_reason(payload, agents)]
    actions = payload.get("actions")
    clicks = [click for click in actions if isinstance(click, dict)] if isinstance(actions, list) else []
    return [_click(click, payload, agents) for click in clicks]


def _click(click: Mapping[str, Any], payload: Mapping[str, Any], agents: Agents) -> ChatEvent | Dropped:
    if click.get("type") != "feedback_buttons":
        return Dropped("other_control")
    message = object_in(payload, "message")
    value, action = text_in(click, "value"), click.get("action_id")
    for element in _elements(message.get("blocks")):
        if element.get("action_id") == action:
            for judgement, button in (("ok", "positive_button"), ("not_ok", "negative_button")):
                if object_in(element, button).get("value") == value:
                    channel, ts = text_in(object_in(payload, "channel"), "id"), text_in(message, "ts")
                    return _judgement(payload, agents, channel, ts, judgement, text_in(click, "action_ts"))
    raise NotUnderstood("actions.value is the value of no button")


def _elements(blocks: object) -> Iterator[Mapping[str, Any]]:
    for block in blocks if isinstance(blocks, list) else []:
        elements = block.get("elements") if isinstance(block, dict) else None
        for element in elements if isinstance(elements, list) else []:
            if isinstance(element, dict) and element.get("type") == "feedback_buttons":
                yield element


def _reason(payload: Mapping[str, Any], agents: Agents) -> ChatEvent | Dropped:
    view = object_in(payload, "view")
    try:
        about = from_json(text_in(view, "private_metadata"))
    except ValueError:
        return Dropped("other_control")
    if not isinstance(about, dict) or about.get("judgement") not in ("ok", "neutral", "not_ok"):
        return Dropped("other_control")
    opened_at = text_in(view, "hash").partition(".")[0]
    event = _judgement(
        payload,
        agents,
        text_in(about, "channel"),
        text_in(about, "message_ts"),
        about["judgement"],
        f"{opened_at}.999999",  # the click that opened the modal may be in the same second
    )
    reason = "\n".join(_inputs(view.get("state"))).replace("\x00", "").strip()[:TEXT_LIMIT]
    return event | ({"text": reason} if reason else {})


def _inputs(state: object) -> Iterator[str]:
    """Yield what the person wrote into the text fields of a modal."""
    blocks = state.get("values") if isinstance(state, dict) else None
    for block in blocks.values() if isinstance(blocks, dict) else ():
        for field in block.values() if isinstance(block, dict) else ():
            if (
                isinstance(field, dict)
                and field.get("type") == "plain_text_input"
                and isinstance(field.get("value"), str)
            ):
                yield field["value"]


def _judgement(
    payload: Mapping[str, Any], agents: Agents, channel: str, message_ts: str, judgement: str, ts: str
) -> ChatEvent:
    user = text_in(object_in(payload, "user"), "id")
    conversation = conversation_of(_workspace(payload), channel)
    identity = str(derived_id("slack judgement", conversation, message_ts, user, judgement, ts))
    reaction = reaction_of(user, agents, conversation, message_ts, ts)
    return reaction | {"eventId": identity, "judgement": judgement}


def _workspace(payload: Mapping[str, Any]) -> str:
    """Return the id of the workspace in which the app is installed, or of its organisation.

    The payload's `team` may be the workspace of the person, if several workspaces share the channel.
    """
    if payload.get("is_enterprise_install") is True:
        return text_in(object_in(payload, "enterprise"), "id")
    for part, name in (("view", "app_installed_team_id"), ("message", "team"), ("team", "id")):
        value = payload.get(part)
        if isinstance(value, dict) and isinstance(value.get(name), str) and value[name]:
            return str(value[name])
    raise NotUnderstood("team is missing")
