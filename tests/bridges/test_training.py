"""Exports read with Hugging Face's `datasets` and TRL's own functions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.running_stack import exchange, message, running_stack
from tests.support.served import served
from tests.support.tool_environment import ROOT, environment_of, finished

pytestmark = [pytest.mark.bridges, pytest.mark.timeout(900)]
BASE = "/conversations/acme/support"


async def test_datasets_and_trl_read_every_training_format(postgres_url: str, tmp_path: Path) -> None:
    # TRL reads its formats without PyTorch, which is gigabytes.
    needed = ("datasets>=4,<6", "transformers>=5,<6", "jinja2>=3.1", "psutil")
    programs = await environment_of("training", *needed, bare=("trl>=1.16,<2", "accelerate>=1.15,<2"))
    async with running_stack(postgres_url) as stack, stack.client() as http:
        for number, (text, agent) in enumerate(
            [("When does it open?", None), ("At nine.", "bot"), ("When does it open?", None), ("At ten. 🕙", "bot")]
        ):
            said = message(f"m{number}", "c1", agent=agent, content=text, occurredAt=f"2026-01-01T10:0{number}:00Z")
            await stack.publish(said)
        await stack.quiet()
        bad = {"reaction": "not_ok", "correction": "At ten on Sundays."}
        assert (await http.post(f"{BASE}/c1/turns/m1/feedback", json=bad)).status_code == 202
        assert (await http.post(f"{BASE}/c1/turns/m3/feedback", json={"reaction": "ok"})).status_code == 202
        await stack.quiet()
        for kind in ("kto", "dpo", "sft"):
            answer = await http.get(f"{BASE}/exports/{kind}")
            assert answer.status_code == 200
            (tmp_path / f"{kind}.jsonl").write_bytes(answer.content)
    process = await asyncio.create_subprocess_exec(
        *(str(programs / "python"), str(ROOT / "tests" / "bridges" / "read_exports.py"), str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    assert json.loads(out) == {"kto": 2, "dpo": 2, "sft": 2}


async def test_a_model_is_trained_on_verdicts(postgres_url: str, tmp_path: Path) -> None:
    programs = await environment_of("trl", "trl==1.16.0", "httpx>=0.28")
    python, kit = str(programs / "python"), str(ROOT / "libs" / "agentkit")
    await finished(python, str(ROOT / "tests" / "bridges" / "tiny_model.py"), str(tmp_path / "model"))
    async with running_stack(postgres_url) as stack, served(stack.app()) as url, stack.client() as http:
        for turn, reaction in (("t1", "ok"), ("t2", "not_ok"), ("t3", "not_ok")):
            await stack.publish(*exchange(turn, turn))
            await stack.quiet()
            given = await http.post(f"{BASE}/{turn}/turns/{turn}/feedback", json={"reaction": reaction})
            assert given.status_code == 202
        await stack.quiet()
        printed = await finished(
            *(python, str(ROOT / "examples/integrations/trl_kto.py")),
            *(str(tmp_path / "model"), str(tmp_path / "trained")),
            AGENT_FEEDBACK_URL=url,
            AGENT_FEEDBACK_TOKEN="all",
            HF_HUB_OFFLINE="1",
            PYTHONPATH=kit,
        )
    assert printed.splitlines()[-1].startswith("1 accepted and 2 rejected answers, 2 steps, loss 0."), printed[-500:]
    before, after = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "trained"))
    assert len(before) == len(after) and before != after
