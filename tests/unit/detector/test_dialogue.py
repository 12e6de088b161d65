"""Messages without a verdict: answers to the agent, similarly worded requests, other turns, other languages."""

from __future__ import annotations

import pytest

from detector.detector import Detector
from detector.explain import explain
from detector.language import own_language
from detector.model import Message, Neighbourhood, Verdict
from detector.reasons import WORDS
from detector.rules import RULES
from detector.text import SAID, prepare

LIST = "Three laptops under $1000: the Lumo for $899, the Nova for $949 and the Vega for $979."
TOPICS = [
    ("Write the SQL query for monthly sales", "SELECT month, SUM(price) FROM sales GROUP BY month;"),
    ("Draw the login diagram", "The login diagram shows the browser, the gateway and the session store."),
    ("Find hotels in Porto", "Three hotels in Porto: Aurora, Bela Vista and Casa Azul."),
]


def after_topics(text: str) -> Neighbourhood:
    before = []
    for turn, (asked, answered) in enumerate(TOPICS):
        before.append(Message(f"q{turn}", f"t{turn}", "ann", "human", None, asked, 2 * turn))
        before.append(Message(f"a{turn}", f"t{turn}", "bot", "agent", "bot", answered, 2 * turn + 1))
    return Neighbourhood(tuple(before), Message("m", "t9", "ann", "human", None, text, 99))


def target(detector: Detector, text: str) -> tuple[str, str | None]:
    [verdict] = detector.judge([after_topics(text)])
    return verdict.feedback, verdict.target.turn_id if verdict.target else None


@pytest.mark.parametrize(
    ("text", "feedback", "turn"),
    [
        ("The SQL query you wrote earlier gives an error, it's wrong", "rejected", "t0"),
        ("The login diagram is wrong", "rejected", "t1"),
        ("The hotels are wrong", "rejected", "t2"),
        ("Thanks for the SQL query", "accepted", "t0"),
        ("Great job on the login diagram", "accepted", "t1"),
        ("Thanks for the hotels in Porto", "accepted", "t2"),
        ("That's wrong", "rejected", "t2"),
        ("Thanks a lot", "accepted", "t2"),
    ],
)
def test_a_verdict_is_about_the_turn_that_the_message_names(
    detector: Detector, text: str, feedback: str, turn: str
) -> None:
    assert target(detector, text) == (feedback, turn)


def says(detector: Detector, message: str, request: str, answer: str) -> Verdict:
    return explain(message, request, answer, detector)


@pytest.mark.parametrize("message", ["laptops over $1000", "laptops under $500"])
def test_another_figure_or_comparison_is_another_request(detector: Detector, message: str) -> None:
    assert not says(detector, message, "laptops under $1000", LIST).emitted


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("so you said it was the blue one", "no"),
        ("right and you are expecting a parcel are you", "no"),
        ("okay was it the blue one or was it just the lid that took the knock", "no it's only the handle"),
        ("can you just confirm the name and address for me please", "it's missus hart, it's not mister"),
    ],
)
def test_a_question_of_the_agent_needs_no_mark(detector: Detector, answer: str, message: str) -> None:
    asked = answer != "so you said it was the blue one"
    assert says(detector, message, "my handset is broken", answer).emitted is not asked


@pytest.mark.parametrize("message", ["No, I haven't.", "No I never heard of that"])
def test_a_no_about_oneself_corrects_nothing(detector: Detector, message: str) -> None:
    answer = "Have you seen The Long Shore? It is slow and a bit odd but very pretty."
    assert not says(detector, message, "a film for tonight", answer).emitted


@pytest.mark.parametrize(
    ("message", "answer", "rejected"),
    [
        ("No, desde Vigo.", "Horarios de trenes a Bilbao, ¿ desde Zaragoza?.", True),
        ("No, desde Vigo.", "Horarios de trenes a Bilbao, ¿desde dónde?", False),
        ("No, per Torino.", "Due posti sul treno, per Milano?", True),
        ("No, solo il prezzo.", "Due posti sul treno, per quando?", False),
        ("Nein, nach Köln.", "Zwei Plätze im Zug, nach Wien?", True),
        ("Nein, nach Köln.", "Zwei Plätze im Zug, um wie viel Uhr?", False),
        ("Non, pour Lyon.", "Deux places dans le train, pour Paris?", True),
        ("Non, pour Lyon.", "Deux places dans le train, pour quand?", False),
    ],
)
def test_a_detail_taken_for_granted_is_corrected(detector: Detector, message: str, answer: str, rejected: bool) -> None:
    verdict = says(detector, message, "", answer)
    assert verdict.emitted is rejected


@pytest.mark.parametrize(
    ("message", "rejected"),
    [
        ("No, wait, let me check first.", False),
        ("No, hold on", False),
        ("No, not yet, I need to ask my wife", False),
        ("No, order 43.", True),
    ],
)
def test_a_no_that_asks_for_time_corrects_nothing(detector: Detector, message: str, rejected: bool) -> None:
    verdict = says(detector, message, "Cancel my order 42", "Do you want me to cancel order 42?")
    assert verdict.emitted is rejected


@pytest.mark.parametrize(
    ("message", "feedback"),
    [
        ("Danke, aber das ist falsch.", "rejected"),
        ("Merci, mais ce n'est pas ce que j'ai demandé", "rejected"),
        ("No funciona, pero gracias", "rejected"),
        ("Grazie, ma non è quello che ho chiesto", "rejected"),
        ("Thanks, but that's wrong.", "rejected"),
        ("Danke, das ist falsch.", "neutral"),
    ],
)
def test_a_rejection_with_a_but_outweighs_thanks(detector: Detector, message: str, feedback: str) -> None:
    answer = "You can sort it by name with the button at the top of the list."
    assert says(detector, message, "how do I sort the list by price", answer).feedback == feedback


def test_a_doubtful_rejection_leaves_the_turn_alone(detector: Detector) -> None:
    verdict = Verdict("rejected", "not_ok", 0.5, "explicit", "", None, (), "learned", "not_ok")
    assert (verdict.emitted, verdict.status) == (False, "neutral")


@pytest.mark.parametrize("message", ["Geht das auch am Freitag?", "Ik weet niet of ik het begrijp", "čeština je těžká"])
def test_other_languages_are_read_by_no_english_pattern(detector: Detector, message: str) -> None:
    verdict = says(detector, message, "Hallo", "Guten Tag, hier ist die Auskunft.")
    assert verdict.decided_by == "rules"
    assert not any(rule.startswith("en.") for rule in verdict.rules)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("it still doesn't work on my machine", "en"),
        ("das geht immer noch nicht", "de"),
        ("ça ne marche toujours pas", "fr"),
        ("sigue sin funcionar, lo siento", "es"),
        ("你忘了排序", "zh"),
        ("non ho capito bene questa cosa", "it"),
        ("ainda não percebi bem essa parte", "other"),
        ("まだ動きません", "other"),
        ("это всё ещё не работает", "other"),
        ("但是我发现 vanilla 的 input 还是不对", "zh"),
        ("ik heb het nog steeds niet begrepen", "other"),
        ("Nova", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    prepared = prepare(text)
    assert own_language(prepared.text, prepared.words) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("да okay", "en"),  # a third of the letters is in another script: the words tell
        ("нет okay", "other"),  # more than a third: the script tells
        ("привіт, друже", "other"),
        ("我 ok", None),
        ("我们ok", "zh"),
        ("一一一", "zh"),
        ("\u9fff\u9fff", "zh"),
        ("はい", "other"),
        ("漢字の", "other"),
        ("报http错误;403", "zh"),  # names of code do not decide
        ("no, translate it into 中文 please", "en"),
        ("안녕하세요", "other"),
        ("\u024f\u024f", None),  # the last Latin letter of Extended-B
        ("\u0250\u0250", "other"),
        ("okay", "en"),
        ("nova okay two", "en"),  # three words: one common one tells
        ("danke", "de"),
        ("graag", "other"),
        ("danke okay", None),  # of two languages neither
        ("danke sehr bitte", "de"),
        ("lumo nova vega zeta", None),  # no common word, and the model is unsure
        ("okay lumo nova vega", "en"),  # unsure: the common word tells
        ("tak okay danke nova xyz danke bitte", "de"),  # the most frequent of the common words
        ("tak okay danke nova xyz", "de"),  # of two equally frequent ones the first by its code
        ("graag lumo nova vega", "other"),
        ("danke lumo okay nova bitte vega", "de"),  # the model is sure
    ],
)
def test_short_messages_are_told_by_script_and_common_words(text: str, language: str | None) -> None:
    assert own_language(text, text.split()) == language


def test_half_a_character_hides_no_language() -> None:
    text = "bonjour je voudrais \ud83d savoir quand ouvre le magasin"
    assert own_language(text, text.split()) == "fr"


def test_cues_are_looked_for_at_both_ends_of_a_long_message() -> None:
    filler = "The page has a header and a footer and a list of rows. " * 20
    prepared = prepare(f"That is wrong. {filler} Please try again.")
    assert prepared.excerpt.startswith("that is wrong.")
    assert prepared.excerpt.endswith("please try again.")
    assert len(prepared.excerpt.split()) <= SAID < len(prepared.words)


@pytest.mark.parametrize(
    "answer", [LIST, "Sunny, 20 degrees.", "The login diagram shows the browser, the gateway and the session store."]
)
def test_two_words_of_another_topic_accept_the_answer_without_an_announcement(detector: Detector, answer: str) -> None:
    asked = Message("q", "t1", "ann", "human", None, "Which laptop should I buy?", 1)
    answered = Message("a", "t1", "bot", "agent", "bot", answer, 2)
    [verdict] = detector.judge(
        [Neighbourhood((asked, answered), Message("m", "t2", "ann", "human", None, "hamster food", 3))]
    )
    assert (verdict.feedback, verdict.status_only, verdict.emitted, verdict.confidence) == (
        "accepted",
        True,
        False,
        0.5,
    )
    assert verdict.target is not None and verdict.target.turn_id == "t1"


@pytest.mark.parametrize(
    ("message", "announced"), [("9:40 is too early.", True), ("10:30 does not suit me", False), ("9:40: thanks", True)]
)
def test_a_message_that_begins_with_a_time_is_a_persons(detector: Detector, message: str, announced: bool) -> None:
    verdict = says(detector, message, "book a train in the morning", "Booked: the 9:40.")
    assert verdict.rule != "rule.nothing_to_judge"
    assert verdict.emitted is announced


def test_every_rule_is_described() -> None:
    assert {f"rule.{rule.name}" for rule in RULES} <= set(WORDS)
