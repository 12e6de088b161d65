"""The list of feedback records, its files, and the links between numbers and their records."""

from __future__ import annotations

import csv
import html
import io
import re

import asyncpg
import httpx
import pytest

from reporting.feedback.search import following
from reporting.http.conversations import conversations_router
from reporting.model.selection import ALWAYS, Filters, Project
from reporting.pages.routes import pages_router
from reporting.pages.visits import PageSources
from reporting.read_models.handlers import ProjectionHandler
from reporting.read_models.store_postgres import PostgresReadModels
from servicekit.db.database import Database
from tests.support.hand_clock import FixedClock
from tests.support.reporting_client import client
from tests.support.reporting_events import START, Take, batch, feedback, message

NOW = FixedClock(START + 3_600_000_000)
TRACES = "https://traces.example/{trace_id}/view"


def visitor(read_models: asyncpg.Pool, token: str = "all") -> httpx.AsyncClient:
    pages = pages_router(PageSources(read_models, read_models, NOW, TRACES))
    return client([pages, conversations_router(read_models, NOW)], token)


def texts(page: str) -> list[str]:
    return re.findall(r'<(?:p|span) class="said">(.*?)</(?:p|span)>', page)


def links(page: str, text: str) -> list[str]:
    return [
        html.unescape(found)
        for found in re.findall(rf'href="([^"]*)"[^>]*>(?:<span class="hidden">)?\s*{re.escape(text)}', page)
    ]


async def test_frequent_words_are_found_by_going_on(
    read_models: asyncpg.Pool, take: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reporting.feedback.search", "reporting.pages.feedback_list"):
        monkeypatch.setattr(f"{module}.SCANNED", 3)
    monkeypatch.setattr("reporting.feedback.search.MOST_TEXTS", 1)
    await take(*(feedback(f"n{at}", turn=f"t{at}", text="hay" if at else "needle", at=at) for at in range(8)))
    async with visitor(read_models) as http:
        pages = [(await http.get("/dashboard/feedback?words=needle")).text]
        while older := links(pages[-1], "Older"):
            pages.append((await http.get(older[0])).text)
    told = [re.findall(r"No match among the \w+ [\d,]+", page) for page in pages]
    assert told == [["No match among the newest 3"], ["No match among the next 3"], []]
    assert texts(pages[-1]) == ["needle"]
    asked = (Project("acme", "support"), ALWAYS, Filters(words="needle"), None, ("c1", "t7"))
    found = [await following(read_models, *asked, newer=newer) for newer in (False, True)]
    assert [row and row["text"] for row in found] == ["needle", "needle"], "neighbours are found likewise"


async def some(take: Take) -> None:
    await take(
        message("q1", turn="t1", content="Cheaper?", at=0),
        message("a1", turn="t1", agent="agent-a", content="**No.**", at=1, agent_version="7", trace_id="tr/1"),
        feedback("f1", turn="t1", agent="agent-a", reaction="ok", text="one", at=2, agent_version="7"),
        feedback("f2", turn="t2", agent="agent-a", kind="explicit", reaction="not_ok", text="two", tags=("wrong",),
                 at=3, agent_version="8"),
        feedback("f3", turn="t3", agent="agent-b", kind="inferred", reaction="not_ok", text="three", confidence=0.8,
                 correction_type="rephrased", conversation="c2", user="bob", at=4, user_type="agent"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["three", "two", "one"]),
        ("agent_id=agent-a", ["two", "one"]),
        ("agent_version=8", ["two"]),
        ("reaction=not_ok", ["three", "two"]),
        ("origin=machine", ["three"]),
        ("given_by=agent", ["three"]),
        ("given_by=person", ["two", "one"]),
        ("feedback_type=explicit", ["two"]),
        ("tag=wrong", ["two"]),
        ("tag=rephrased", ["three"]),
        ("origin=machine&min_confidence=0.9", []),
        ("words=TWO", ["two"]),
        ("words=cheaper", ["one"]),
        ("user_id=bob", ["three"]),
        ("conversation_id=c2", ["three"]),
        ("from=2026-09-21T14:13&to=2026-09-21T14:13", ["three", "two", "one"]),
        ("from=2026-09-21&to=2026-09-21&tz=Europe/Berlin", ["three", "two", "one"]),
        ("to=2026-09-20", []),
        ("agent_id=&reaction=&words=", ["three", "two", "one"]),
    ],
)
async def test_each_filter_of_the_address_narrows_the_list_and_its_files_alike(
    read_models: asyncpg.Pool, take: Take, query: str, expected: list[str]
) -> None:
    await some(take)
    async with visitor(read_models) as http:
        assert texts((await http.get(f"/dashboard/feedback?{query}")).text) == expected
        rows = list(csv.DictReader(io.StringIO((await http.get(f"/dashboard/feedback.csv?{query}")).text)))
        assert [row["text"] for row in rows] == expected


async def test_a_reply_is_listed_as_a_reply_and_counts_for_nothing(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    await take(feedback("r1", kind="implicit", turn="t1", agent="agent-a", user="eve", text="And in May?", at=5))
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/feedback")).text
        replies = (await http.get("/dashboard/feedback?feedback_type=implicit")).text
        verdicts = (await http.get("/dashboard/feedback?feedback_type=verdict")).text
        transcript = (await http.get(links(page, "Read the conversation")[0])).text
        first_page = (await http.get("/")).text
        counted = (await http.get(links(first_page, "21 Sep 2026, 00:00")[0])).text
    assert texts(page) == ["And in May?", "three", "two", "one"]
    assert '<span class="badge reply">Reply</span>' in page
    assert texts(replies) == ["And in May?"]
    assert texts(verdicts) == ["three", "two", "one"]
    assert texts(transcript) == ["one", "And in May?", "two"]
    assert "**No.**" not in transcript  # the transcript of the reply, with its answer rendered
    assert texts(counted) == ["two", "one"]


async def test_a_filter_that_is_none_gets_a_page_that_says_so(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    async with visitor(read_models) as http:
        for query in (
            "reaction=great",
            "tz=Nowhere/Land",
            "from=soon",
            "to=9999-12-31",
            "cursor=x",
            "cursor=1-2-x",
            f"cursor=1-{'9' * 5_000}-x",
            "min_confidence=7",
        ):
            answer = await http.get(f"/dashboard/feedback?{query}")
            assert answer.status_code == 400
            assert "does not work" in answer.text


async def test_times_are_shown_in_the_viewers_zone(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    for zone, moment, named in (
        (
            "Pacific/Auckland",
            "22 Sep 2026, 02:13",
            "15 Sep 2026 to 22 Sep 2026, times in Pacific/Auckland (UTC+12:00)</p>",
        ),
        ("America/New_York", "21 Sep 2026, 10:13", "14 Sep 2026 to 21 Sep 2026, times in America/New_York (UTC−04:00)"),
        ("", "21 Sep 2026, 14:13", '<p class="when">14 Sep 2026 to 21 Sep 2026, times in UTC</p>'),
    ):
        async with visitor(read_models) as http:
            page = (await http.get(f"/dashboard/feedback?tz={zone}")).text
            overview = (await http.get(f"/?tz={zone}")).text
        assert set(re.findall(r'<time datetime="2026-09-21T14:13:2[^"]*">(.*?)</time>', page)) == {moment}
        for shown in (page, overview):
            assert named in shown


async def test_the_list_goes_on_and_shows_each_once(read_models: asyncpg.Pool, take: Take) -> None:
    await take(*(feedback(f"s{at}", turn=f"t{at}", text=f"n{at}", at=at) for at in range(120)))
    async with visitor(read_models) as http:
        seen = list[str]()
        address: str | None = "/dashboard/feedback?reaction=ok"
        while address:
            page = (await http.get(address)).text
            seen += texts(page)
            address = next(iter(links(page, "Older")), None)
        assert seen == [f"n{at}" for at in reversed(range(120))]
        lines = (await http.get("/dashboard/feedback.csv")).text.splitlines()
        assert len(lines) == 121


async def test_the_files_hold_what_the_api_finds_and_no_formula(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    await take(feedback("f4", turn="t4", text='=HYPERLINK("x")', tags=("a", "b"), correction="-1+1", at=9))
    async with visitor(read_models) as http:
        found = (await http.post("/conversations/acme/support/feedback/search", json={})).json()["items"]
        answer = await http.get("/dashboard/feedback.csv")
        assert answer.headers["content-disposition"] == 'attachment; filename="feedback.csv"'
        row, *more = csv.DictReader(io.StringIO(answer.text))
        assert [one["feedback_id"] for one in (row, *more)] == [one["feedback_id"] for one in found]
        assert (row["text"], row["correction"], row["tags"]) == ('\'=HYPERLINK("x")', "'-1+1", "a; b")
        assert row["value"] == "0.6"


async def test_the_numbers_of_the_overview_lead_to_their_cases(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    async with visitor(read_models) as http:
        page = (await http.get("/")).text
        (people, machine) = links(page, "<b>1</b> Not OK")
        assert texts((await http.get(people)).text) == ["two"]
        assert texts((await http.get(machine)).text) == ["three"]
        assert texts((await http.get(links(page, "wrong")[0])).text) == ["two"]
        assert texts((await http.get(links(page, "asked the same again")[0])).text) == ["three"]
        (bar,) = {html.unescape(found) for found in re.findall(r'<a href="([^"]*)"><g class="step">', page)}
        assert texts((await http.get(bar)).text) == ["two", "one"]
        assert "agent_id=agent-b" in links(page, "agent-b")[0]


async def test_a_transcript_opened_from_the_list_has_its_neighbours_and_the_way_back(
    read_models: asyncpg.Pool, take: Take
) -> None:
    await some(take)
    async with visitor(read_models) as http:
        listed = (await http.get("/dashboard/feedback?agent_id=agent-a&period=30d")).text
        middle = (await http.get(links(listed, "Read the conversation")[1])).text
        assert "<strong>No.</strong>" in middle
        assert "https://traces.example/tr%2F1/view" in middle
        assert links(middle, "Older") == []
        (newer,) = links(middle, "Newer")
        assert "turn=t2" in newer
        (back,) = links(middle, "&larr; Feedback list")
        assert texts((await http.get(back)).text) == ["two", "one"]
        assert "agent_id=agent-a" in back
        assert "period=30d" in back
        assert len(links((await http.get(newer)).text, "Older")) == 1


async def test_an_erased_text_is_shown_as_such(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    await read_models.execute("update messages set content = '', sender_id = '' where message_id = 'q1'")
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/conversation?at=acme/support&id=c1")).text
    assert page.count("Erased at the person's request") == 1
    assert "Cheaper?" not in page


async def test_each_bin_of_the_calibration_page_links_to_its_verdicts(read_models: asyncpg.Pool, take: Take) -> None:
    for number, confidence in enumerate((0.65, 0.6999999999, 0.7, 0.95, 0.9499, 1.0)):
        turn = f"t{number}"
        await take(
            message(f"a{number}", turn=turn, at=1),
            feedback(f"p{number}", turn=turn, kind="explicit", reaction=("ok", "not_ok")[number % 2], at=2),
            feedback(f"m{number}", turn=turn, kind="inferred", reaction="not_ok", confidence=confidence, at=3),
        )
    await take(feedback("m9", turn="t9", kind="inferred", reaction="not_ok", confidence=0.7, at=3))  # nobody judged it
    async with visitor(read_models) as http:
        page = (await http.get("/dashboard/accuracy?period=all")).text
        rows = re.findall(r'<th scope="row">(\d+%) to (\d+%)</th><td><a href="([^"]*)">(\d+)</a>', page)
        assert [(low, pairs) for low, _, _, pairs in rows] == [("65%", "1"), ("70%", "2"), ("90%", "1"), ("95%", "2")]
        for low, high, url, pairs in rows:
            listed = (await http.get(html.unescape(url))).text
            assert listed.count("% confidence</span>") == int(pairs), low
            assert f'aria-label="Remove the filter Confidence: {low} to {high}"' in listed
            assert 'name="confidence_bin" value=' in listed, "a change of another filter keeps the bin"
        for wrong in ("-1", "20", "x", "1.5"):
            assert (await http.get(f"/dashboard/feedback?confidence_bin={wrong}")).status_code == 400


async def test_a_filter_is_offered_if_its_values_differ(read_models: Database) -> None:
    handler = ProjectionHandler(PostgresReadModels(read_models), frozenset({"language", "tier"}))
    for number, language in enumerate(("de", "en")):
        turn, attributes = f"t{number}", {"language": language, "tier": "gold"}
        answer = message(f"a{number}", turn=turn, agent="agent-a", attributes=attributes, at=1)
        await handler.handle(batch(answer, feedback(f"f{number}", turn=turn, reaction="ok", at=2)))
    async with visitor(read_models) as http:
        for path in ("/?", "/dashboard/feedback?"):
            page = (await http.get(f"{path}period=all&attributes.language=de")).text
            form = page[page.index('id="filters"') : page.index("</form>", page.index('id="filters"'))]
            assert re.findall('name="attributes.language" value="([^"]*)"( checked)?>', form) == [
                ("", ""), ("de", " checked"), ("en", "")
            ]  # fmt: skip
            assert "attributes.tier" not in form, "all answers have the same tier"
            assert 'aria-label="Remove the filter language: de"' in form


async def test_the_list_of_a_person_leads_administrators_to_the_erasure(read_models: asyncpg.Pool, take: Take) -> None:
    await take(feedback("f1", user="ann & <b>", reaction="ok", at=1))
    person = "/dashboard/feedback?period=all&user_id=ann+%26+%3Cb%3E"
    link = '<a href="/dashboard/erase?tenant=acme&amp;user=ann+%26+%3Cb%3E">'
    for token, expected in (("all", True), ("acme-admin", True), ("acme", False), ("support-admin", False)):
        async with visitor(read_models, token) as http:
            assert (link in (await http.get(person)).text) is expected
            assert "/dashboard/erase" not in (await http.get("/dashboard/feedback?period=all")).text


async def test_a_callers_files_and_pages_hold_their_project_alone(read_models: asyncpg.Pool, take: Take) -> None:
    await some(take)
    await take(feedback("g1", tenant="globex", text="theirs", agent="agent-a", turn="t1", at=8))
    async with visitor(read_models, "acme") as http:
        for path in ("feedback", "feedback.csv", "accuracy"):
            ours = await http.get(f"/dashboard/{path}?agent_id=agent-a")
            assert ours.status_code == 200
            assert "theirs" not in ours.text
            refused = await http.get(f"/dashboard/{path}?at=globex/support&agent_id=agent-a")
            assert refused.status_code == 404


async def test_hostile_text_stays_text_in_every_page(read_models: asyncpg.Pool, take: Take) -> None:
    hostile = "<script>alert(1)</script>{{ 7*7 }}"
    await take(
        message("a1", turn="t1", agent=hostile, content=hostile, at=1, agent_version=hostile),
        feedback("f1", turn="t1", agent=hostile, user=hostile, text=hostile, correction=hostile, tags=(hostile,),
                 conversation=hostile, kind="explicit", reaction="not_ok", agent_version=hostile, model=hostile, at=2),
    )  # fmt: skip
    async with visitor(read_models) as http:
        listed = (await http.get("/dashboard/feedback")).text
        overview = (await http.get("/")).text
        agent = (await http.get("/", params={"agent_id": hostile})).text
        read = (await http.get(links(listed, "Read the conversation")[0])).text
        searched = (await http.get("/dashboard/feedback", params={"words": '"><script>'})).text
    for page in (listed, overview, agent, read, searched):
        assert "<script>alert" not in page
        assert '"><script>' not in page
        assert " style=" not in page
