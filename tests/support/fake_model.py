"""A language model on a loopback port that speaks OpenAI's protocols: chat completions and responses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.served import served

ANSWER, AFTER_A_REJECTION = "It opens at nine.", "I am sorry. Which day do you mean?"
REJECTED = "REJECTED"
"""The word of the planner's advice after a rejection."""


@asynccontextmanager
async def fake_model() -> AsyncIterator[str]:
    """Serve the model; yield its base URL. It gives another answer if the request contains a rejection."""
    app = Starlette(
        routes=[
            Route("/v1/chat/completions", _chat_completion, methods=["POST"]),
            Route("/v1/responses", _response, methods=["POST"]),
        ]
    )
    async with served(app) as url:
        yield f"{url}/v1"


async def _answer(request: Request) -> tuple[dict[str, Any], str]:
    body = await request.body()
    return json.loads(body), AFTER_A_REJECTION if REJECTED.encode() in body else ANSWER


async def _chat_completion(request: Request) -> Response:
    sent, answer = await _answer(request)
    head = {"id": f"chatcmpl-{uuid4()}", "created": 1_767_261_600, "model": sent["model"]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not sent.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    deltas: list[tuple[dict[str, str], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        *(({"content": f"{word} "}, None) for word in answer.split(" ")[:-1]),
        ({"content": answer.split(" ")[-1]}, None),
        ({}, "stop"),
    ]
    lines = [
        {
            **head,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        for delta, reason in deltas
    ]
    text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines)
    return Response(f"{text}data: [DONE]\n\n", media_type="text/event-stream")


async def _response(request: Request) -> Response:
    sent, answer = await _answer(request)
    content = {"type": "output_text", "text": answer, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content]}
    counts: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return JSONResponse(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_767_261_600,
            "status": "completed",
            "model": sent["model"],
            "output": [said],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": counts | details,
        }
    )
