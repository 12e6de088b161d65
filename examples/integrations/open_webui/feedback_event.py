"""
title: agent-feedback: ratings
author: agent-feedback
version: 0.1.0
"""

from urllib.parse import quote

import httpx
from open_webui.models.feedbacks import Feedbacks
from pydantic import BaseModel


class Event:
    class Valves(BaseModel):
        url: str = "http://127.0.0.1:8080"
        token: str = ""
        tenant: str = "acme"
        project: str = "open-webui"

    def __init__(self):
        self.valves = self.Valves()

    async def event(self, event):
        if event["event"] not in ("feedback.created", "feedback.updated"):
            return
        given = await Feedbacks.get_feedback_by_id(event["subject"]["id"])
        chat, message = given.meta["chat_id"], given.meta["message_id"]
        reaction = {"1": "ok", "-1": "not_ok"}.get(str(given.data.get("rating")))
        said = {"reaction": reaction, "text": given.data.get("comment") or None, "user_id": given.user_id}
        path = (
            f"/conversations/{self.valves.tenant}/{self.valves.project}/{quote(chat)}/turns/{quote(message)}/feedback"
        )
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {self.valves.token}"}) as http:
            (await http.post(self.valves.url + path, json=said)).raise_for_status()
