"""Redaction: each recogniser, JSON in place, own patterns and their limits."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Coroutine, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.topics import EXPLICIT_RECEIVED, INBOUND_TOPICS, TOPICS
from redaction.recognisers import BUILT_IN, cards
from redaction.redactor import IDENTIFIERS, Redactor, redact_json, redacted
from servicekit.errors import StartError
from servicekit.log.handler import Slot
from servicekit.log.records import Message
from servicekit.log.redacting import RedactingProducer, RedactionSettings, configured_redactor, redact, redact_all
from servicekit.metrics import REDACTED
from servicekit.settings import read_settings
from tests.support.logs import RecordingLog, raw

CARD, IBAN = "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"
KEY = "sk-" + "proj" * 6
FOUND = {
    CARD: "[card]",
    "4111-1111-1111-1111": "[card]",
    "5500005555555559": "[card]",
    "3782 822463 10005": "[card]",
    "6011.1111.1111.1117": "[card]",
    "4111\u00a01111\u00a01111\u00a01111": "[card]",
    "٤١١١ ١١١١ ١١١١ ١١١١": "[card]",
    f"order 12 {CARD} 12/27": "order 12 [card] 12/27",
    "4111 1111 1111 1111 003": "[card]",  # sixteen of its digits are a number, too
    f"{CARD} {CARD}": "[card] [card]",
    f"{CARD}{KEY}": "[card][key]",
    IBAN: "[iban]",
    IBAN.replace(" ", "").lower(): "[iban]",
    "GB82 WEST 1234 5698 7654 32.": "[iban].",
    f"to {IBAN} thanks": "to [iban] thanks",
    f"ab12 {IBAN}": "ab12 [iban]",
    KEY: "[key]",
    "AKIA" + "A1" * 8: "[key]",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl": "[key]",
    "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b": "a [key] b",
    "-----BEGIN PRIVATE KEY-----\nMII": "[key]",
    "ann.lee+x@mail.example.org!": "[mail]!",
    "jürgen@müller.de": "[mail]",
    "+49 30 1234567": "[phone]",
    "(030) 123 4567": "[phone]",
    "030/1234567": "[phone]",
    "call 555-010-4477.": "call [phone].",
    "IBANDE89370400440532013000": "IBAN[iban]",
}
for separator in ("\n", "\r\n", "\t", "/", "_", "\u00ad", "\u2060", "\ufeff", "&nbsp;", "    ", " / "):
    FOUND[CARD.replace(" ", separator)] = "[card]"
    FOUND[IBAN.replace(" ", separator)] = "[iban]"
CARDS = (
    "4222222222222", "4111111111111111", "4000000000000000006",  # Visa
    "5555555555554444", "2223003122003222", "2720990000000007",  # Mastercard
    "378282246310005", "341111111111111",  # American Express
    "30569309025904", "36227206271667",  # Diners Club
    "3530111333300000", "3566002020360505",  # JCB
    "6011000990139424", "6445644564456445", "6200000000000005",  # Discover, UnionPay
    "2200000000000053",  # Mir
    "6759649826438453", "6304000000000000", "5018000000007",  # Maestro
)  # fmt: skip
"""Test numbers of the networks, and numbers made from their ranges (ISO/IEC 7812) with a check digit."""
IBANS = (
    "NO9386011117947", "BE68539007547034", "DK5000400440116243", "MK07250120000058984", "AT611904300234573201",
    "CH9300762011623852957", "GB29NWBK60161331926819", "AE070331234567890123456", "ES9121000418450200051332",
    "PT50000201231234567890154", "TR330006100519786457841326", "FR1420041010050500013M02606",
    "PL61109010140000071219812874", "BR1800360305000010009795493C1", "KW81CBKU0000000000001234560101",
    "MT84MALT011000012345MTLCAST001S", "LC55HEMM000100010012001200023015", "RU0304452522540817810538091310419",
)  # fmt: skip
"""The examples of SWIFT's IBAN registry, one of each length."""
LEFT = (
    "4111 1111 1111 1112",  # wrong check digit
    "1234 5678 9012 3452",  # no issuer
    "41111111111111110",  # 17 digits
    "94111111111111111",
    "3852000002320",  # one digit fewer than a Diners Club card
    "GB29NWBK6016133192681",  # one character fewer than an IBAN of the country
    "DE89 3704 1044 1532 1130 01",
    "DE89370400440532013000x",
    "DE89370400440532013000x y",
    "2026-01-01T10:00:00.000000Z",
    "1700000000.123456",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "task-force",
    "a@b",
    "version 1.2.3.4, 100 000 000 users",
    "Kb12 4K89",
)


def redactor(**settings: Any) -> Redactor:
    return Redactor(RedactionSettings(**{"kinds": frozenset(BUILT_IN)} | settings))


def said(one: Redactor, text: str, place: str | None = None) -> str:
    value, _ = one.redact(json.dumps({"content": text}, ensure_ascii=False).encode(), place)
    content: str = json.loads(value)["content"]
    return content


@pytest.mark.parametrize("text", FOUND)
@pytest.mark.parametrize("escaped", [True, False])
def test_what_is_found_is_masked(text: str, escaped: bool) -> None:  # a parameter of the test
    value, _ = redactor().redact(json.dumps({"content": text}, ensure_ascii=escaped).encode())
    assert json.loads(value) == {"content": FOUND[text]}


@pytest.mark.parametrize("text", LEFT)
def test_what_only_looks_alike_is_left(text: str) -> None:
    value = json.dumps({"content": text}).encode()
    assert redactor().redact(value) == (value, {})


@pytest.mark.parametrize("number", [*CARDS, *IBANS])
def test_numbers_of_every_issuer_and_country_are_masked(number: str) -> None:
    """Alone and in groups of four, and with the other built-in kinds or without."""
    grouped = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    for shown in (number, grouped):
        for kinds in (BUILT_IN, ("card",) if number in CARDS else ("iban",)):
            masked = "It is [card]." if number in CARDS else "It is [iban]."
            assert said(redactor(kinds=frozenset(kinds)), f"It is {shown}.") == masked


def test_every_string_is_redacted_except_identifiers() -> None:
    event = {"senderId": CARD, "content": CARD, "tags": [CARD], "attributes": {CARD: {"x": [{"y": CARD}, CARD]}}}
    value, found = redactor().redact(json.dumps(event).encode())
    assert json.loads(value) == {
        "senderId": CARD, "content": "[card]", "tags": ["[card]"],
        "attributes": {"[card]": {"x": [{"y": "[card]"}, "[card]"]}},
    }  # fmt: skip
    assert found == {"card": 5}


def test_an_element_of_a_list_below_an_identifier_is_redacted() -> None:
    value, _ = redactor().redact(json.dumps({"a": [{"messageId": "m"}, CARD], "userId": [CARD]}).encode())
    assert CARD not in value.decode()


def test_other_bytes_stay_as_sent() -> None:
    sent = b'{ "tenant":"a",\t"tenant" : "b", "n": 1.0e400, "s":"\\u00e9\\/", "content": "' + CARD.encode() + b'"}\n'
    assert redactor().redact(sent)[0] == sent.replace(CARD.encode(), b"[card]")


@pytest.mark.parametrize("value", [b"4111111111111111", b'{"x":4111111111111111}', b'{"x":[-4111111111111111]}'])
def test_a_number_is_redacted(value: bytes) -> None:
    clean, found = redactor().redact(value)
    assert b"4111" not in clean
    assert found == {"card": 1}
    json.loads(clean)


@pytest.mark.parametrize("value", [b'{"occurredAt":4111111111111111}', b'{"x":1.4111111111111111}', b"4" * 40])
def test_a_time_or_another_number_is_left(value: bytes) -> None:
    assert redactor().redact(value)[0] == value


@pytest.mark.parametrize(
    "value", [b'{"content":"%s', b'"%s" "', b"%s\xff", b"[" * 500 + b'"%s"', b'{"content":"%s"} \\"', b'\xff"%s"']
)
def test_what_is_not_json_is_redacted_as_text(value: bytes) -> None:
    assert redactor().redact(value.replace(b"%s", CARD.encode()))[0] == value.replace(b"%s", b"[card]")


@given(st.lists(st.sampled_from(['"', "\\", ":", ",", " ", "{", "}", '"messageId"', "userId", CARD, "a"]), max_size=14))
def test_nothing_is_overlooked_because_of_identifiers(parts: list[str]) -> None:
    """The check of identifiers only saves time: the result is as without it, in JSON and in what is not JSON."""
    one = Redactor(RedactionSettings(kinds=frozenset({"card"})))
    bare, wrapped = "".join(parts).encode(), b'{"content":"x","messageId":"%s"}' % "".join(parts).encode()
    for value in (bare, wrapped):
        expected = redact_json(value, lambda text: redacted(text, [cards], ()), IDENTIFIERS)
        assert one.redact(value) == expected


def test_lone_surrogates_are_no_obstacle() -> None:
    value, _ = redactor().redact(b'{"content":"\\ud800 ann@example.org %s"}' % CARD.encode())
    assert json.loads(value) == {"content": "\ud800 [mail] [card]"}


def _pieces() -> st.SearchStrategy[str]:
    parts = st.sampled_from([*FOUND, *LEFT, "4111", " ", "-", "1", "[card]", "DE", "@", "\ud800", "é", '"', "\\"])
    return st.lists(parts | st.text(max_size=5), max_size=8).map("".join)


@given(_pieces(), st.booleans())
def test_a_repetition_changes_nothing_and_no_text_grows(text: str, escaped: bool) -> None:
    try:
        value = json.dumps({"content": text}, ensure_ascii=escaped).encode()
    except UnicodeEncodeError:
        return
    once, _ = redactor().redact(value)
    assert redactor().redact(once) == (once, {})
    assert len(json.loads(once)["content"]) <= len(text)


@given(_pieces())
def test_the_spelling_of_the_json_makes_no_difference(text: str) -> None:
    """Nothing is overlooked because a character is escaped."""
    escaped = "".join(f"\\u{ord(one):04x}" if ord(one) < 0x10000 else one for one in text)
    try:
        spellings = [json.dumps({"content": text}).encode(), b'{"content":"%s"}' % escaped.encode()]
    except UnicodeEncodeError:
        return
    assert len({json.dumps(json.loads(redactor().redact(one)[0])) for one in spellings}) == 1


def test_the_default_masks_what_has_a_check_digit_or_a_form_of_its_own() -> None:
    one = Redactor(RedactionSettings())
    assert said(one, f"{CARD}, {IBAN}, {KEY}") == "[card], [iban], [key]"
    assert said(one, "ann@example.org +49 30 1234567") == "ann@example.org +49 30 1234567"
    assert Redactor(RedactionSettings(kinds=frozenset())).is_off


def test_an_own_pattern_leaves_the_names_of_fields() -> None:
    value = json.dumps({"content": "the content", "tenant": "content"}).encode()
    clean, _ = redactor(patterns={"word": "content"}).redact(value)
    assert json.loads(clean) == {"content": "the [word]", "tenant": "content"}


def test_a_text_that_always_has_more_is_masked_as_a_whole() -> None:
    one = redactor(patterns={"next": r"(?:^|\*)a"})
    assert said(one, "a" * 50) == "[text]"
    assert said(one, "[text]") == "[text]"


def test_own_patterns_of_all_projects_and_of_one() -> None:
    one = redactor(
        patterns={"employee": "EMP-[0-9]{6}"},
        patterns_of={"acme/support": {"policy": r"\bP[0-9]{4}\b", "employee": None}, "acme/sales": {"lead": "L[0-9]+"}},
    )
    text = "EMP-123456 P1234 L77"
    assert said(one, text, "acme/support") == "EMP-123456 ***** L77"
    assert said(one, text, "acme/sales") == "[employee] P1234 ***"
    assert said(one, text, "globex/support") == "[employee] P1234 L77"
    event = {"project": "support", "tenant": "acme", "content": text}
    assert json.loads(one.redact(json.dumps(event).encode())[0])["content"] == "EMP-123456 ***** L77"
    assert said(one, text) == "[employee] ***** ***", "an event that names no project is redacted for all"
    assert b"P1234" not in one.redact(b'{"tenant":"acme","project":"support","x":"P1234"')[0]


@pytest.mark.parametrize(
    ("event", "clean"),
    [
        (
            '{"tenant":"acme","project":"support","x":"P1234 L77"}',
            '{"tenant":"acme","project":"support","x":"***** L77"}',
        ),
        ('{"tenant":"acme","project":"other","x":"P1234 L77"}', None),
        ('{"tenant":"acme","tenant":"acme","project":"support","x":"L77"}', "***"),
        ('{"tenant":"acme","project":"sales","project":"support","x":"L77"}', "***"),
        ('{"tenant":"acme","x":"L77"}', "***"),
        ('["tenant","project","L77"]', "***"),
    ],
    ids=["its own", "no table", "two tenants", "two projects", "no project", "no object"],
)
def test_an_event_of_an_uncertain_project_is_redacted_for_all(event: str, clean: str | None) -> None:
    one = redactor(
        kinds=frozenset(), patterns_of={"acme/support": {"policy": "P[0-9]{4}"}, "acme/sales": {"lead": "L[0-9]+"}}
    )
    expected = clean if clean and clean.startswith("{") else event.replace("L77", clean) if clean else event
    assert one.redact(event.encode())[0].decode() == expected


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("PATTERNS", '{"employee": "("}', "is not an RE2 pattern"),
        ("PATTERNS", '{"employee": "x*"}', "matches an empty text"),
        ("PATTERNS", '{"employee": "[a-z]+"}', "matches the mask"),
        ("PATTERNS", '{"card": "EMP"}', "built-in kind"),
        ("PATTERNS", json.dumps({f"p{n}": f"EMP{n}" for n in range(51)}), "at most 50 patterns"),
        ("PATTERNS_OF", '{"acme": {"employee": "EMP"}}', "is not tenant/project"),
        ("KINDS", '["card", "name"]', "REDACTION_KINDS"),
    ],
)
def test_unusable_settings_stop_the_start(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, why: str) -> None:
    monkeypatch.setenv(f"REDACTION_{variable}", value)
    with pytest.raises(StartError, match=why):
        read_settings(RedactionSettings)


@pytest.mark.parametrize(
    "text", ["4 ", "4", "-eyJaaaaaaaa", "a@a.", "DE89 ", "0 ", "-----BEGIN PRIVATE KEY-----", f"{CARD} ", '"sk-', "aa!"]
)
def test_hostile_texts_take_seconds_at_most(text: str) -> None:
    """CPU time: without bounds, 200,000 characters would take minutes."""
    one = redactor(patterns={"evil": "(a+)+b", "any": "x(?:[^@]|EMP)*@@"})
    began = time.process_time()
    one.redact(json.dumps({"content": text * (200_000 // len(text))}).encode())
    assert time.process_time() - began < 5


def test_what_people_send_is_redacted_as_it_is_read_whoever_wrote_it() -> None:
    """By topic: texts of every other topic come from these. Each kind of mask is counted once, for its own reader."""
    one = Redactor(RedactionSettings())
    records = [raw(topic.name, b'{"content": "%s"}' % CARD.encode()) for topic in TOPICS]
    mine = INBOUND_TOPICS[0].name
    before = REDACTED.labels("card")._value.get()
    read = [redact(record, one, {mine}) for record in records]
    assert REDACTED.labels("card")._value.get() == before + 1
    changed = {now.coordinates.topic for was, now in zip(records, read, strict=True) if was != now}
    assert changed == {topic.name for topic in INBOUND_TOPICS} | {EXPLICIT_RECEIVED.name}
    assert {now.value for was, now in zip(records, read, strict=True) if was != now} == {b'{"content": "[card]"}'}
    deleted = raw(mine, None)
    assert redact(deleted, one, {mine}) is deleted


async def test_a_redacting_producer_leaves_all_but_the_texts() -> None:
    log = RecordingLog()
    sent = [
        Message("feedback.explicit.received", CARD, b'{"text": "%s", "userId": "%s"}' % (2 * (CARD.encode(),))),
        Message("feedback.explicit.received", "key", None),
    ]
    written = await RedactingProducer(log, Redactor(RedactionSettings())).send(sent)
    assert [(one.topic, one.offset) for one in written] == [("feedback.explicit.received", n) for n in range(2)]
    assert [(one.key, one.value) for one in log.messages] == [
        (CARD, b'{"text": "[card]", "userId": "%s"}' % CARD.encode()), ("key", None),
    ]  # fmt: skip


DIGITS = b'{"content": "%s"}' % (b"4" * 199_000)


async def beats_during(work: Coroutine[Any, Any, Any]) -> int:
    """Return the number of turns that the event loop takes during `work`."""
    task = asyncio.create_task(work)
    beats = 0
    while not task.done():
        beats += 1
        await asyncio.sleep(0.001)
    await task
    return beats


async def test_a_long_redaction_leaves_the_event_loop_free() -> None:
    """Two million digits take seconds; short texts stay in the loop, which is faster."""
    redactor_ = Redactor(RedactionSettings())
    messages = [Message("feedback.explicit.received", "key", DIGITS)] * 10
    assert await beats_during(RedactingProducer(RecordingLog(), redactor_).send(messages)) > 20
    slots = [Slot(raw(INBOUND_TOPICS[0].name, DIGITS)) for _ in range(10)]
    assert await beats_during(redact_all(slots, redactor_, set())) > 20
    short = Slot(raw(INBOUND_TOPICS[0].name, b'{"content": "%s"}' % CARD.encode()))
    await redact_all([short], redactor_, set())
    assert short.raw.value == b'{"content": "[card]"}'


class StandInEngine:
    """Stand-in for Presidio's AnalyzerEngine: every "Ann" is a PERSON."""

    def __init__(self, supported_languages: list[str]) -> None:
        assert supported_languages == ["en"]

    def analyze(self, text: str, language: str, entities: list[str], score_threshold: float) -> Iterator[Any]:
        assert (language, entities, score_threshold) == ("en", ["PERSON"], 0.5)
        at = text.find("Ann")
        if at >= 0:
            yield SimpleNamespace(start=at, end=at + 10, entity_type="PERSON")


def test_presidio_adds_its_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the calls: Presidio itself needs a language model."""
    module = ModuleType("presidio_analyzer")
    module.AnalyzerEngine = StandInEngine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "presidio_analyzer", module)
    assert said(redactor(presidio_language="en"), f"Ann Miller {CARD}") == "[person] [card]"


def test_presidio_that_is_not_installed_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    monkeypatch.setenv("REDACTION_PRESIDIO_LANGUAGE", "en")
    with pytest.raises(StartError, match=r"REDACTION_PRESIDIO_LANGUAGE: .*presidio-analyzer"):
        configured_redactor()
