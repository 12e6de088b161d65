"""
title: agent-feedback: answers
author: agent-feedback
version: 0.1.0
"""

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import httpx
from pydantic import BaseModel


class Filter:
    class Valves(BaseModel):
        url: str = "http://127.0.0.1:8080"
        token: str = ""
        tenant: str = "acme"
        project: str = "open-webui"
        seconds: float = 0.3

    def __init__(self):
        self.valves = self.Valves()

    async def inlet(self, body, __user__, __chat_id__):
        text = body["messages"][-1]["content"]
        if isinstance(text, str) and __chat_id__ and ":" not in __chat_id__:
            asked = {"text": text, "user_id": __user__["id"], "agent_id": body["model"]}
            path = f"/conversations/{self.valves.tenant}/{self.valves.project}/{quote(__chat_id__)}/detect"
            found = await self.post(path, json=asked)
            if found and found["planner_markdown"]:
                body["messages"].insert(0, {"role": "system", "content": found["planner_markdown"]})
        return body

    async def outlet(self, body, __user__):
        if body["chat_id"] and ":" not in body["chat_id"]:  # neither a temporary chat nor a channel
            asked, said = body["messages"][-2:]
            person = {"senderId": __user__["id"], "senderType": "human"}
            model = {"senderId": body["model"], "senderType": "agent", "agentId": body["model"]}
            now = datetime.now(UTC)
            times = now - timedelta(milliseconds=1), now  # the question comes before the answer
            sent = "\n".join(
                json.dumps(self.event(body["chat_id"], message, at) | who)
                for message, at, who in zip((asked, said), times, (person, model), strict=True)
            )
            path = f"/ingest/{self.valves.tenant}/{self.valves.project}/events"
            await self.post(path, content=sent, headers={"content-type": "application/x-ndjson"})
        return body

    def event(self, chat, message, at):
        named = {"eventId": message["id"], "messageId": message["id"], "content": message["content"]}
        common = {"topic": "chat.message.ingested", "conversationId": chat, "occurredAt": at.isoformat()}
        return common | named

    async def post(self, path, **sent):
        headers = {"authorization": f"Bearer {self.valves.token}", **sent.pop("headers", {})}
        try:
            async with httpx.AsyncClient(timeout=self.valves.seconds) as http:
                return (await http.post(self.valves.url + path, headers=headers, **sent)).raise_for_status().json()
        except httpx.HTTPError as error:
            print(f"agent-feedback: {type(error).__name__}")  # the chat goes on
