"""A Discord bot for the command `/ask`, whose answers have 👍 and 👎 buttons: `uvicorn discord_bot:app`."""

import os
from datetime import UTC, datetime

import httpx
from discord_interactions import InteractionResponseType, InteractionType, verify_key
from fastapi import BackgroundTasks, FastAPI, HTTPException, Request, Response

from agent_feedback_kit import AsyncClient, Channel, before_planning, events

AGENT, URL = "support-agent", os.environ["AGENT_FEEDBACK_URL"]
BUTTONS = [
    {"type": 2, "style": 2, "custom_id": f"feedback-{way}", "emoji": {"name": emoji}}
    for way, emoji in (("up", "👍"), ("down", "👎"))
]
app = FastAPI()
feedback = AsyncClient(URL, token=os.environ["AGENT_FEEDBACK_TOKEN"], tenant="acme", project="support")
http = httpx.AsyncClient(timeout=2)
discord = httpx.AsyncClient(base_url=os.environ.get("DISCORD_API_URL", "https://discord.com/api/v10"))


def model(text, advice):
    return "Sorry, which day do you mean?" if advice and "REJECTED" in advice else "At nine."


@app.post("/interactions")
async def interactions(request: Request, background: BackgroundTasks):
    body, headers = await request.body(), request.headers
    signed = {name: headers.get(name, "") for name in ("x-signature-ed25519", "x-signature-timestamp")}
    if not verify_key(body, *signed.values(), os.environ["DISCORD_PUBLIC_KEY"]):
        raise HTTPException(401)
    interaction = await request.json()
    if interaction["type"] == InteractionType.APPLICATION_COMMAND:
        background.add_task(answer, interaction)
        return {"type": InteractionResponseType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE}
    passed = await http.post(f"{URL}/sources/webhooks/discord", content=body, headers=signed)  # a ping or a click
    return Response(passed.content, passed.status_code, media_type="application/json")


async def answer(interaction):
    person = interaction.get("member", interaction)["user"]["id"]
    text, conversation = interaction["data"]["options"][0]["value"], f"discord/{interaction['channel_id']}"
    planning = await before_planning(feedback, conversation, text, user_id=person, agent_id=AGENT)
    sent = {"content": model(text, planning.markdown), "components": [{"type": 1, "components": BUTTONS}]}
    path = f"/webhooks/{interaction['application_id']}/{interaction['token']}/messages/@original"
    message = (await discord.patch(path, json=sent)).raise_for_status().json()
    channel = Channel("acme", "support", conversation)
    asked = events.message(channel, interaction["id"], text, sender_id=person, occurred_at=time_of(interaction))
    said = {"sender_id": AGENT, "agent_id": AGENT, "occurred_at": time_of(message)}
    await events.publish_over_http(feedback, asked, events.message(channel, message["id"], sent["content"], **said))


def time_of(thing):
    return datetime.fromtimestamp(((int(thing["id"]) >> 22) + 1_420_070_400_000) / 1_000, UTC)
