"""Runs the example's functions by Open WebUI's own filters and events: `python run_open_webui.py URL FOLDER`.

Runs in the environment that has Open WebUI's package. Prints the answers of the two turns as JSON. The model answers
with REJECTED if a message contains that word of the planner's advice.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

url, folder = sys.argv[1:]
os.environ |= {"DATA_DIR": folder, "DATABASE_URL": f"sqlite:///{folder}/webui.db", "OFFLINE_MODE": "true"}
os.environ |= {
    "FROM_INIT_PY": "true",
    "WEBUI_SECRET_KEY": "of the test",
    "ENABLE_DB_MIGRATIONS": "False",
    "VECTOR_DB": "none",
}
retrieval = ModuleType("open_webui.retrieval.web.utils")  # needs a vector database; checks addresses of webhooks only
retrieval.validate_url = retrieval.get_ssrf_safe_session = lambda address: True
sys.modules[retrieval.__name__] = retrieval
# Open WebUI reads its environment when it is imported, so its imports stand below it.
from open_webui.events import EVENTS, build_event, dispatch_event_functions  # noqa: E402
from open_webui.internal.db import Base, engine  # noqa: E402
from open_webui.models.feedbacks import FeedbackForm, Feedbacks  # noqa: E402
from open_webui.models.functions import FunctionForm, Functions  # noqa: E402
from open_webui.utils.filter import get_filter_functions, process_filter_functions  # noqa: E402
from open_webui.utils.plugin import load_function_module_by_id  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples" / "integrations" / "open_webui"
APP = SimpleNamespace(state=SimpleNamespace())
REQUEST = SimpleNamespace(app=APP, state=SimpleNamespace())
MODEL, ANN, CHAT = {"id": "opening-hours"}, {"id": "ann", "role": "user"}, "open_webui"


async def install(name: str) -> None:
    """Do what an administrator does: add the function, set its valves, and switch it on for all chats."""
    content = (EXAMPLES / f"{name}.py").read_text("utf-8")
    _, kind, manifest, _ = await load_function_module_by_id(name, content)
    form = FunctionForm(id=name, name=name, content=content, meta={"manifest": manifest})
    await Functions.insert_new_function("admin", kind, form)
    await Functions.update_function_by_id(name, {"is_active": True, "is_global": True})
    valves = {"url": url, "token": "all", "project": "support"}
    await Functions.update_function_valves_by_id(name, valves | ({"seconds": 10} if kind == "filter" else {}))


async def filtered(kind: str, body: dict, **extra: object) -> dict:
    functions = await get_filter_functions(REQUEST, MODEL)
    assert [function.id for function in functions] == ["feedback_filter"]
    parameters = {"__user__": dict(ANN), **extra}
    done, _ = await process_filter_functions(REQUEST, None, functions, kind, body, parameters)
    return done


async def turn(number: int, chat: str, text: str) -> str:
    """Pass a message through the filters as Open WebUI's middleware does; return the model's answer."""
    asked, now = {"role": "user", "content": text}, int(time.time())
    form = await filtered("inlet", {"model": MODEL["id"], "messages": [asked]}, __chat_id__=chat)
    answer = "REJECTED" if "REJECTED" in json.dumps(form["messages"]) else "It opens at nine."
    said = {"id": f"a{number}", "role": "assistant", "content": answer, "timestamp": now}
    messages = [{"id": f"u{number}", "timestamp": now, **asked}, said]
    body = {"model": MODEL["id"], "messages": messages, "chat_id": chat, "session_id": "s1", "id": f"a{number}"}
    assert await filtered("outlet", body) == body
    return answer


async def rate(number: int, rating: int, comment: str) -> None:
    """Do what Open WebUI does when a person clicks on a thumb."""
    form = FeedbackForm(
        type="rating",
        data={"rating": rating, "model_id": MODEL["id"], "comment": comment},
        meta={"chat_id": CHAT, "message_id": f"a{number}", "model_id": MODEL["id"]},
    )
    feedback = await Feedbacks.insert_new_feedback(ANN["id"], form)
    event = build_event(APP, EVENTS.FEEDBACK_CREATED, actor=ANN, subject_id=feedback.id, data={"rating": rating})
    await dispatch_event_functions(APP, event)


async def main() -> None:
    Base.metadata.create_all(engine)
    for name in ("feedback_filter", "feedback_event"):
        await install(name)
    answers = [await turn(1, CHAT, "When does the museum open?")]
    await rate(1, -1, "It opens at ten.")
    answers.append(await turn(2, CHAT, "No, that's wrong, I asked about Sunday."))
    await rate(2, 1, "")
    await turn(3, "temporary:s1", "Not to be stored.")
    print(json.dumps(answers))


asyncio.run(main())
