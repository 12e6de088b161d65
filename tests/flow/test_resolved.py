"""An issue is resolved over HTTP: the people who rejected are told in the topic and by a webhook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contracts.topics import FEEDBACK_RESOLVED
from proofs.chaos.logs import records_of
from tests.flow.test_webhooks import data, endpoint, stack_with
from tests.support.erasures import erased
from tests.support.receiver import receiver
from tests.support.running_stack import RunningStack, exchange, running_stack

PEOPLE = ("ann", "bob", "cy", "eve")


async def run_now(stack: RunningStack, name: str) -> None:
    """Run a periodic task of reporting immediately."""
    [task] = [one for one in stack.stack.services["reporting"]._periodics if one.name == name]
    await task.work()


async def rejected_issue(stack: RunningStack) -> int:
    """Let each of PEOPLE reject the same answer in a conversation of their own. Return the issue of these turns."""
    for user in PEOPLE:
        question, answer = exchange(user, "t1")
        question |= {"senderId": user, "content": "When does the museum open on Sundays?"}
        await stack.publish(question, answer)
    await stack.quiet()
    async with stack.client() as http:
        for user in PEOPLE:
            path = f"/conversations/acme/support/{user}/turns/t1/feedback"
            body = {"reaction": "not_ok", "text": f"{user}'s words: it is closed.", "user_id": user}
            assert (await http.post(path, json=body)).status_code == 202
        await stack.quiet()
        await run_now(stack, "issues")
        # So few turns make no group by themselves.
        of = "tenant, project, agent_id, encoder"
        await stack.rows(
            f"insert into reporting.issues ({of}, state_at) select distinct {of}, 0 from reporting.issue_turns"
        )
        await stack.rows("update reporting.issue_turns set issue_id = (select id from reporting.issues)")
        await stack.rows("update reporting.issues set turns = 4, people = 4")
        [issue] = (await http.get("/conversations/acme/support/issues")).json()["items"]
        assert (issue["turns"], issue["people"]) == (4, 4)
    return int(issue["id"])


async def events(stack: RunningStack) -> list[Any]:
    return [json.loads(one.value) for one in await records_of(stack.broker.bootstrap, FEEDBACK_RESOLVED.name)]


async def resolve(stack: RunningStack, issue: int) -> None:
    async with stack.client("reviewer") as http:
        body = {"state": "resolved", "resolved_in": "2", "note": "Bob was right."}
        answer = await http.post(f"/conversations/acme/support/issues/{issue}/change", json=body)
    assert answer.status_code == 200, answer.text


async def test_everyone_who_rejected_is_told_unless_erased(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPORTING_RESOLVED_NOTICE_MINUTES", "0.000001")
    async with receiver() as there:
        hooks = [
            endpoint("chat", f"{there.url}/chat", events=["feedback.resolved"]),
            endpoint("sales", f"{there.url}/sales", events=["feedback.resolved"], project="sales"),
            endpoint("learner", f"{there.url}/learner"),
        ]
        async with stack_with(postgres_url, tmp_path, *hooks) as stack:
            issue = await rejected_issue(stack)
            await erased(stack, "eve")
            await resolve(stack, issue)
            for _ in range(2):
                await run_now(stack, "resolution notices")
            await stack.quiet()
            taken = await there.until("/chat", lambda taken: len(taken) == 4)  # with the erasure request
            told = [event for event in data(taken) if "issueId" in event]
            assert sorted(event["userId"] for event in told) == ["ann", "bob", "cy"]
            for event in told:
                assert event["turns"] == [{"conversationId": event["userId"], "turnId": "t1"}]
                assert (event["issueId"], event["resolvedIn"], event["origin"]) == (issue, "2", "user")
            found = await events(stack)
            assert sorted(event["eventId"] for event in found) == sorted(event["eventId"] for event in told)
            text = json.dumps(found)
            assert not any(word in text for word in ("closed", "museum", "Bob", "right", '"eve"'))
            assert [event for event in data(there.at("/learner")) if "issueId" in event] == []
            assert [event for event in data(there.at("/sales")) if "issueId" in event] == []


async def test_without_the_setting_nobody_is_told(postgres_url: str) -> None:
    async with running_stack(postgres_url) as stack:
        issue = await rejected_issue(stack)
        await resolve(stack, issue)
        assert "resolution notices" not in {one.name for one in stack.stack.services["reporting"]._periodics}
        assert await events(stack) == []
