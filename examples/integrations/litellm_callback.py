"""A LiteLLM callback that publishes every exchange, and a call that plans with feedback."""

import os
from contextlib import suppress

import litellm
from litellm.integrations.custom_logger import CustomLogger

from agent_feedback_kit import AgentFeedbackError, AsyncClient, Channel, before_planning, events

AGENT, MODEL = "opening-hours", os.environ.get("MODEL", "openai/gpt-5-mini")
URL, TOKEN = os.environ["AGENT_FEEDBACK_URL"], os.environ["AGENT_FEEDBACK_TOKEN"]
feedback = AsyncClient(URL, token=TOKEN, tenant="acme", project="support", timeout=2)


class FeedbackLogger(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        place = kwargs["litellm_params"]["metadata"]
        if "conversation" not in place:
            return  # a call without a person, such as an embedding or a summary
        channel, turn = Channel("acme", "support", place["conversation"]), response_obj.id
        text, answer = kwargs["messages"][-1]["content"], response_obj.choices[0].message.content
        said = {"sender_id": AGENT, "agent_id": AGENT, "model": response_obj.model, "turn_id": turn}
        asked = {"sender_id": place["user"], "turn_id": turn, "occurred_at": start_time.astimezone()}
        with suppress(AgentFeedbackError):
            await events.publish_over_http(
                feedback,
                events.message(channel, f"{turn}-q", text, **asked),
                events.message(channel, f"{turn}-a", answer, **said, occurred_at=end_time.astimezone()),
            )


litellm.callbacks = [FeedbackLogger()]


async def reply(conversation, user, text):
    """Return the id of the response, which is the turn of its 👍 and 👎, and the answer."""
    planning = await before_planning(feedback, conversation, text, user_id=user, agent_id=AGENT)
    advice = [{"role": "system", "content": planning.markdown}] if planning.markdown else []
    messages, place = [*advice, {"role": "user", "content": text}], {"conversation": conversation, "user": user}
    response = await litellm.acompletion(MODEL, messages, metadata=place)
    return response.id, response.choices[0].message.content


async def thumb(conversation, user, turn, reaction):
    await feedback.submit_feedback(conversation, turn, reaction, user_id=user)
