"""Messages without a verdict: answers to the agent, similarly worded requests, other turns, other languages."""

from __future__ import annotations

import pytest

from contracts.announcement_threshold import ANNOUNCEMENT_THRESHOLD
from detector.detector import Detector
from detector.evidence import Evidence
from detector.explain import explain
from detector.language import own_language
from detector.learned import Opinion
from detector.model import Message, Neighbourhood, Verdict
from detector.patterns import LANGUAGES, Kind
from detector.reasons import reason_in_words
from detector.rules import announceable, decide
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
    ("message", "kinds", "announced"),
    [
        ("My uncle says it is a stupid myth that they find their way. Are pigeons really that bad at it?", (), False),
        ("But my uncle says it is a stupid myth that they find their way. Are pigeons that bad?", ("cue_but",), True),
        ("My uncle says it is a stupid myth that they find their way. Pigeons are really bad at it.", (), True),
        ("Are pigeons really that bad?", (), True),
    ],
)
def test_a_question_after_something_told_is_about_the_matter(
    message: str, kinds: tuple[Kind, ...], announced: bool
) -> None:
    texts = prepare(message), prepare("tell me about pigeons"), prepare("Pigeons find home by sun and smell.")
    evidence = Evidence(*texts, (), frozenset(("cue_reject", *kinds)), frozenset())
    opinion = Opinion((0.9, 0.0, 0.0, 0.0, 0.05, 0.05), ())
    assert (decide(evidence, opinion).confidence >= ANNOUNCEMENT_THRESHOLD) is announced
    assert announceable(evidence) is announced


@pytest.mark.parametrize(
    ("message", "answer", "rejected"),
    [
        ("No, desde Vigo.", "Horarios de trenes a Bilbao, ¿ desde Zaragoza?.", True),
        ("No, desde Vigo.", "Horarios de trenes a Bilbao, ¿desde dónde?", False),
        ("No, per Torino.", "Due posti sul treno, per Milano?", True),
        ("No, solo il prezzo.", "Due posti sul treno, per quando?", False),
        ("Não, para o Porto.", "Dois bilhetes de comboio, para Lisboa?", True),
        ("Nein, nach Köln.", "Zwei Plätze im Zug, nach Wien?", True),
        ("Nein, nach Köln.", "Zwei Plätze im Zug, um wie viel Uhr?", False),
        ("Non, pour Lyon.", "Deux places dans le train, pour Paris?", True),
        ("Non, pour Lyon.", "Deux places dans le train, pour quand?", False),
    ],
)
def test_a_detail_taken_for_granted_is_corrected(detector: Detector, message: str, answer: str, rejected: bool) -> None:
    verdict = says(detector, message, "", answer)
    assert ("rule.corrects_confirmation" in verdict.rules) is rejected
    assert verdict.emitted is rejected


@pytest.mark.parametrize(
    ("message", "announced"),
    [
        ("Too bad. I wanted to go hiking.", False),
        ("Oh no, I hate rain.", False),
        ("That's a shame.", False),
        ("Oh no, that's not what I asked.", True),
        ("We don't eat raw fish by the way.", False),
        ("That's wrong by the way.", True),
    ],
)
def test_what_is_said_of_the_matter_is_not_announced(detector: Detector, message: str, announced: bool) -> None:
    answer = "Tomorrow it will rain in Berlin, 12 degrees."
    assert says(detector, message, "What is the weather tomorrow?", answer).emitted is announced


@pytest.mark.parametrize("said", ["", " you"])
def test_a_regret_of_what_the_agent_did_is_about_its_answer(said: str) -> None:
    texts = prepare(f"Too bad{said}"), prepare("tidy up"), prepare("I deleted the drafts.")
    evidence = Evidence(*texts, (), frozenset(), frozenset())
    assert announceable(evidence) is bool(said)


@pytest.mark.parametrize(
    ("request_", "answer", "again"),
    [
        ("Run the tests", "All 24 tests pass.", True),
        ("Run the tests", "Sorry, I can't do that.", False),
        ("Run the tests again please", "All 24 tests pass.", False),
        ("Run the linter", "All files are clean.", False),
    ],
)
def test_an_order_to_do_it_again_turns_nothing_down(
    detector: Detector, request_: str, answer: str, again: bool
) -> None:
    verdict = says(detector, "Run the tests again please", request_, answer)
    assert ("rule.resent" in verdict.rules) is again


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
    assert ("rule.corrects_confirmation" in verdict.rules) is rejected
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


@pytest.mark.parametrize(
    ("message", "answer", "kinds", "announced"),
    [
        ("please tidy the module up", "The module holds the queue.", (), False),
        ("please stop, it is the other module", "The module holds the queue.", ("cue_reject",), True),
        ("the module is untidy", "The module holds the queue.", (), True),
        ("the module is untidy", "```python\nqueue = []\n```", ("cue_reject",), False),
        ("see this\nKeyError: 'queue'", "```python\nqueue = []\n```", ("cue_reject",), True),
    ],
)
def test_orders_and_what_follows_code_alone_are_not_announced(
    message: str, answer: str, kinds: tuple[Kind, ...], announced: bool
) -> None:
    texts = prepare(message), prepare("write the queue"), prepare(answer)
    evidence = Evidence(*texts, (), frozenset(kinds), frozenset())
    opinion = Opinion((0.9, 0.0, 0.0, 0.0, 0.05, 0.05), ())
    assert (decide(evidence, opinion).confidence >= ANNOUNCEMENT_THRESHOLD) is announced
    assert announceable(evidence) is announced


@pytest.mark.parametrize(
    ("message", "answer", "announced"),
    [
        ("I don't like my job", "Tell me about your day.", False),
        ("not really a fan of winter", "Winter is cold in Oslo.", False),
        ("I don't like it", "The harbour walk takes a day.", True),
        ("not really a fan of walks", "How about the harbour walk?", True),
    ],
)
def test_a_dislike_is_about_what_was_recommended_or_taken_up(
    detector: Detector, message: str, answer: str, announced: bool
) -> None:
    assert says(detector, message, "hello there", answer).emitted is announced


def test_a_request_sent_again_after_a_reply_that_was_cut_off_rejects_nothing(detector: Detector) -> None:
    asked = "explain how the scheduler picks the next job and what happens when two jobs are ready"
    again = says(detector, asked, asked, "The scheduler keeps a queue of jobs, ordered by")
    assert (again.feedback, again.rules) == ("neutral", ("rule.resent",))
    assert says(detector, asked, asked, "Sorry, I could not load the page.").feedback == "rejected"


def test_a_doubtful_rejection_leaves_the_turn_alone(detector: Detector) -> None:
    verdict = Verdict("rejected", "not_ok", 0.5, "explicit", "", None, (), "learned", "not_ok")
    assert (verdict.emitted, verdict.status) == (False, "neutral")


@pytest.mark.parametrize("message", ["Geht das auch am Freitag?", "Ik weet niet of ik het begrijp", "čeština je těžká"])
def test_other_languages_are_read_by_no_english_pattern(detector: Detector, message: str) -> None:
    verdict = says(detector, message, "Hallo", "Guten Tag, hier ist die Auskunft.")
    assert verdict.decided_by == "rules"
    assert not any(rule.startswith(("en.", "learned.")) for rule in verdict.rules)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("it still doesn't work on my machine", "en"),
        ("das geht immer noch nicht", "de"),
        ("ça ne marche toujours pas", "fr"),
        ("sigue sin funcionar, lo siento", "es"),
        ("你忘了排序", "zh"),
        ("non ho capito bene questa cosa", "it"),
        ("ainda não percebi bem essa parte", "pt"),
        ("まだ動きません", "ja"),
        ("это всё ещё не работает", "ru"),
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
        ("нет okay", "ru"),  # more than a third: the script tells
        ("привіт, друже", "other"),  # no word or letter of Russian
        ("我 ok", None),
        ("我们ok", "zh"),
        ("一一一", "zh"),
        ("\u9fff\u9fff", "zh"),
        ("はい", "ja"),
        ("漢字の", "ja"),
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
    assert prepared.said.startswith("that is wrong.")
    assert prepared.said.endswith("please try again.")
    assert len(prepared.said_words) <= SAID < len(prepared.words)


def test_lines_that_programs_wrote_are_no_words_of_a_person() -> None:
    pasted = "now this:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'name'"
    prepared = prepare(pasted)
    assert (prepared.text, prepared.failed) == ("now this:", True)
    assert not prepare("KeyError: 'name'").empty
    compiled = prepare("now this:\nFailed to compile.\n\n./src/list.tsx:7:5\nType error: Cannot find name 'rows'.")
    assert (compiled.text, compiled.failed) == ("now this:", True)
    assert prepare("2024-03-01 12:00:02 INFO restarting").empty


def test_every_rule_has_a_sentence_and_no_feature_that_says_nothing() -> None:
    names = [pattern.name for patterns in LANGUAGES.values() for pattern in patterns]
    own = ["llm.rejection", "rule.machine_text", "rule.mixed", "abstained.language"]
    assert [name for name in (*names, *own) if not reason_in_words([name])] == []
    silent = ["learned.word:thanks", "learned.first:oh", "learned.the words of the answer", "learned.words", "x"]
    assert reason_in_words(["en.thanks", *silent]) == ("thanks",)


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
