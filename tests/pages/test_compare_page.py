"""The comparison page, its route, and the releases on the agent page."""

from __future__ import annotations

import html
import re
from typing import Any

import asyncpg
import httpx
import pytest

from reporting.http.figures import figures_router
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, batch, feedback, message

HOUR = 3_600
NOW = FixedClock(START + 10 * 24 * HOUR * 1_000_000)
PROJECT = "/conversations/acme/support"


def visitor(read_models: asyncpg.Pool) -> httpx.AsyncClient:
    return client([pages_router(PageSources(read_models, read_models, NOW)), figures_router(read_models, NOW)], "all")


def words(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


async def two_versions(read_models: asyncpg.Pool) -> None:
    """Write 60 turns of version 1 with 54 ok, then 60 of version 2 with 30 ok, each by another person."""
    events: list[Any] = []
    for version, ok, days in (("1", 54, 0), ("2", 30, 3)):
        for n in range(60):
            turn, at = f"v{version}t{n}", days * 24 * HOUR + 600 * n
            arm, intent = "ab"[n % 2], ("buy", "ask")[n % 2]
            made = {"agent_version": version, "intent": intent, "bundle_id": f"shop{n % 3}"}
            attributes = {"arm": arm, "internal": "x"}
            events += [
                message(f"{turn}-q", turn=turn, at=at, conversation=turn),
                message(
                    f"{turn}-answer",
                    turn=turn,
                    agent="bot",
                    at=at + 1,
                    conversation=turn,
                    attributes=attributes,
                    **made,
                ),
            ]
            if n < 58:
                given: dict[str, Any] = {"user": f"u{version}{n}", "agent": "bot", "conversation": turn, **made}
                events.append(
                    feedback(f"f{turn}", turn=turn, at=at + 2, reaction="ok" if n < ok else "not_ok", **given)
                )
    handler = ProjectionHandler(PostgresReadModels(read_models), frozenset({"arm"}))
    await handler.handle(batch(*events))


async def test_the_effective_size_falls_as_people_repeat_themselves(read_models: asyncpg.Pool) -> None:
    """Each of 20 people judges one version six times, always alike."""
    events = [
        feedback(
            f"f{turn}", turn=turn, conversation=turn, at=n, user=f"u{version}{n % 20}", agent="bot",
            agent_version=version, reaction="ok" if n % 20 < ok else "not_ok",
        )
        for version, ok in (("1", 16), ("2", 8))
        for n in range(120)
        if (turn := f"v{version}t{n}")
    ]  # fmt: skip
    await ProjectionHandler(PostgresReadModels(read_models)).handle(batch(*events))
    async with visitor(read_models) as http:
        found = (await http.get(f"{PROJECT}/feedback/compare?by=version&a=1&b=2")).json()
    assert found["a"]["people"]["total"] == 120 and found["a"]["people"]["effective_size"] <= 20
    assert found["people"]["difference"] == pytest.approx(-0.4)


async def test_the_route_compares_two_versions(read_models: asyncpg.Pool) -> None:
    await two_versions(read_models)
    async with visitor(read_models) as http:
        answer = await http.get(f"{PROJECT}/feedback/compare?by=version&a=1&b=2")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert (found["a"]["people"]["ok"], found["a"]["people"]["total"]) == (54, 58)
        assert (found["b"]["people"]["ok"], found["b"]["people"]["total"]) == (30, 58)
        assert found["people"]["difference"] == pytest.approx(30 / 58 - 54 / 58)
        assert found["people"]["low"] < found["people"]["difference"] < found["people"]["high"] < 0
        assert found["people"]["sentence"] == (
            "People are less satisfied with 2 than with 1: the difference is distinguishable from chance."
        )
        assert found["machine"]["verdict"] == "unclear"
        assert [found["machine"][name] for name in ("difference", "low", "high")] == [None, -1, 1]
        assert "no verdicts on 1 and 2" in found["machine"]["sentence"]
        by_arm = (await http.get(f"{PROJECT}/feedback/compare?by=attributes.arm&a=a&b=b")).json()
        assert by_arm["people"]["verdict"] == "unclear"
        assert "is not distinguishable from chance" in by_arm["people"]["sentence"]
        by_role = (await http.get(f"{PROJECT}/feedback/compare?by=user_type&a=human&b=x")).json()
        assert by_role["a"]["people"]["total"] == 116
        one = (await http.get(f"{PROJECT}/feedback/compare?a=1&b=2&agent_id=nobody")).json()
        assert one["a"]["people"]["total"] == 0


@pytest.mark.parametrize("question", ["a=1&b=1", "a=1", "by=secret&a=1&b=2", "by=attributes.&a=1&b=2", "a=1&b=%00"])
async def test_the_route_refuses_what_it_cannot_compare(read_models: asyncpg.Pool, question: str) -> None:
    async with visitor(read_models) as http:
        assert (await http.get(f"{PROJECT}/feedback/compare?{question}")).status_code == 422


async def test_the_page_compares_the_latest_versions_unless_others_are_chosen(read_models: asyncpg.Pool) -> None:
    await two_versions(read_models)
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/compare")).text
        assert "People are less satisfied with 2 than with 1" in words(page)
        rejected = next(link for link in re.findall(r'href="(/dashboard/feedback[^"]*)"', page) if "not_ok" in link)
        listed = (await http.get(html.unescape(rejected))).text
        assert listed.count('class="badge not_ok"') == 4
        other = (await http.get("/dashboard/compare?dimension=version&a=2&b=1")).text
        assert "People are more satisfied with 1 than with 2" in words(other)
        arms = (await http.get("/dashboard/compare?dimension=attributes.arm&a=1&b=2")).text
        assert "not distinguishable from chance" in words(arms)
        assert "internal" not in arms
        assert (await http.get("/dashboard/compare?dimension=nonsense")).status_code == 400


async def judged(read_models: asyncpg.Pool, agent: str, *versions: str, verdicts: int = 12) -> None:
    """Write verdicts of as many people on each version of an agent; each version begins after the one before."""
    handler = ProjectionHandler(PostgresReadModels(read_models))
    for version in versions:
        at = 5 * 24 * HOUR + HOUR * int(version)
        events = [
            feedback(f"{agent}{version}-{n}", turn=f"{agent}{version}-{n}", at=at + n, user=f"p{n}", agent=agent,
                     agent_version=version)
            for n in range(verdicts)
        ]  # fmt: skip
        await handler.handle(batch(*events))


def compared(page: str) -> list[str]:
    """Return the values of the comparison's first table."""
    return re.findall(r'<th scope="row">(\w+)</th>', page)[:2]


async def test_the_latest_versions_are_those_of_one_agent(read_models: asyncpg.Pool) -> None:
    await two_versions(read_models)
    await judged(read_models, "other", "7", "8")
    await judged(read_models, "third", "9", verdicts=150)
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/compare")).text
        assert compared(page) == ["1", "2"], "third has more verdicts, but one version; other has the latest versions"
        assert "Versions of bot . Of the agents with two versions or more, it has the most verdicts." in words(page)
        of_versions = re.findall(r'href="(/dashboard/feedback[^"]*agent_version=[^"]*)"', page)
        assert all("agent_id=bot" in link for link in of_versions)
        assert "agent_id=bot" not in re.findall(r'href="(/dashboard/issues[^"]*)"', page)[0], (
            "other pages show all agents"
        )
        assert compared((await http.get("/dashboard/compare?agent_id=other&a=1&b=2")).text) == ["7", "8"]
        assert compared((await http.get("/dashboard/compare?agent_id=other&a=8&b=2")).text) == ["8", "7"]
        assert compared((await http.get("/dashboard/compare?a=8&b=1")).text) == ["8", "1"], "as chosen"
        assert compared((await http.get("/dashboard/compare?a=8&b=8&agent_id=other")).text) == ["7", "8"]
        assert compared((await http.get("/dashboard/compare?agent_id=bot&a=1&b=x")).text) == ["1", "2"], "x has none"


async def test_a_cell_of_the_matrix_lists_its_verdicts(read_models: asyncpg.Pool) -> None:
    handler = ProjectionHandler(PostgresReadModels(read_models))
    for n in range(3):
        judged = "ok" if n else "not_ok"
        await handler.handle(
            batch(
                feedback(f"m{n}", kind="inferred", turn=f"t{n}", reaction="not_ok", text=f"machine {n}"),
                feedback(f"u{n}", kind="explicit", turn=f"t{n}", reaction=judged, text=f"person {n}"),
            )
        )
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/accuracy?period=30d")).text
        [cell] = [link for link in re.findall(r'href="([^"]*)"', page) if "judged=ok" in link]
        listed = (await http.get(html.unescape(cell))).text
        assert sorted(re.findall(r'<span class="said">(.*?)</span>', listed)) == ["machine 1", "machine 2"]
        assert "2 records" in words(listed)


async def test_a_project_without_two_values_says_so(read_models: asyncpg.Pool) -> None:
    handler = ProjectionHandler(PostgresReadModels(read_models))
    await handler.handle(batch(feedback("f1", agent_version="1")))
    async with visitor(read_models) as http:
        assert "Only one version has verdicts" in words((await http.get("/dashboard/compare")).text)
        page = (await http.get("/dashboard/compare?dimension=bundle")).text
        assert "No verdict in this period has a bundle" in words(page)
