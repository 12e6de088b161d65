"""Runs an example, `python serve.py EXAMPLE.py`, or serves its ASGI application, `python serve.py EXAMPLE.py PORT`."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "libs" / "agentkit"))
from agent_feedback_kit.planning import before

before.before_planning.__kwdefaults__["budget"] = 5.0  # the test checks behaviour, not speed

if len(sys.argv) == 2:
    runpy.run_path(sys.argv[1], run_name="__main__")
else:
    import uvicorn

    uvicorn.run(runpy.run_path(sys.argv[1])["app"], host="127.0.0.1", port=int(sys.argv[2]))
