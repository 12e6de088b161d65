"""Has a conversation with an example that defines `reply` and `thumb`: `python converse.py EXAMPLE.py`.

Runs in the environment that has the example's packages. Prints the two turns and answers as JSON.
"""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "libs" / "agentkit"))
from agent_feedback_kit import NotFound
from agent_feedback_kit.planning import before

before.before_planning.__kwdefaults__["budget"] = 5.0  # the test checks behaviour, not speed


async def click(example: Any, name: str, turn: str, reaction: str) -> None:
    """Give a thumb as soon as the answer is known: LiteLLM calls its callbacks after the response."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await example.thumb(name, "ann", turn, reaction)
            except NotFound:
                await asyncio.sleep(0.1)


async def main(path: str) -> None:
    name = Path(path).stem
    found = importlib.util.spec_from_file_location(f"example_{name}", path)
    example = importlib.util.module_from_spec(found)
    sys.modules[found.name] = example
    found.loader.exec_module(example)
    said = [await example.reply(name, "ann", "When does the museum open?")]
    await click(example, name, said[0][0], "not_ok")
    said.append(await example.reply(name, "ann", "No, that's wrong, I asked about Sunday."))
    await click(example, name, said[1][0], "ok")
    print(json.dumps(said))


asyncio.run(main(sys.argv[1]))
