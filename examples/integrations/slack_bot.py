"""A Slack bot on Bolt that passes its events on and plans with the verdicts: `python slack_bot.py`."""

import os

import httpx
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from agent_feedback_kit import AsyncClient, before_planning

URL, TOKEN = os.environ["AGENT_FEEDBACK_URL"], os.environ["AGENT_FEEDBACK_TOKEN"]
SLACK = AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], os.environ.get("SLACK_API_URL", AsyncWebClient.BASE_URL))
SECRET = os.environ["SLACK_SIGNING_SECRET"]
app = AsyncApp(client=SLACK, signing_secret=SECRET, ignoring_self_events_enabled=False)  # its answers are passed on
feedback = AsyncClient(URL, token=TOKEN, tenant="acme", project="support")
http = httpx.AsyncClient(base_url=URL, timeout=2)


def model(text, advice):
    return "Sorry, which day do you mean?" if advice and "REJECTED" in advice else "At nine."


@app.middleware
async def pass_on(request, next_):
    signed = {name: request.headers[name][0] for name in ("x-slack-signature", "x-slack-request-timestamp")}
    try:
        passed = await http.post("/sources/slack/events", content=request.raw_body, headers=signed)
    except httpx.HTTPError:
        return BoltResponse(status=503)  # Slack sends the event again
    return await next_() if passed.is_success else BoltResponse(status=503)


@app.event("message")
async def answer(event, context, say):
    if "bot_id" in event or "subtype" in event:
        return
    conversation, thread = f"slack/{context.team_id}/{event['channel']}", event.get("thread_ts")
    planning = await before_planning(
        feedback, conversation, event["text"], user_id=event["user"], message_id=event["ts"], thread_id=thread
    )
    await say(model(event["text"], planning.markdown), thread_ts=thread or event["ts"])


@app.event("reaction_added")
@app.event("reaction_removed")
async def passed_on():
    """Let Bolt respond with 200 to events that are passed on only."""


if __name__ == "__main__":
    app.start(int(os.environ.get("PORT", "3000")), host="127.0.0.1")
