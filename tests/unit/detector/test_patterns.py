"""The pattern tables: valid data, correct on plain sentences, fast on any text."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest

from detector.patterns import KINDS, LANGUAGES, Pattern, human_hits, patterns_of
from detector.patterns.required import required
from detector.text import HEAD, TAIL, prepare


def kinds_in(text: str, language: str = "en") -> frozenset[str]:
    return frozenset(pattern.kind for pattern in human_hits(prepare(text), language))


ALL = [pattern for language in LANGUAGES for pattern in patterns_of(language)]

PLAIN = [
    ("en", "That's terrible.", "reject"),
    ("en", "I don't believe it.", "reject_stated"),
    ("en", "That's wrong.", "reject"),
    ("en", "You misunderstood me", "reject"),
    ("en", "Did you not read what I wrote?", "reject"),
    ("en", "this is way too expensive", "reject_stated"),
    ("en", "I didn't ask for that", "reject"),
    ("en", "it still doesn't work", "reject"),
    ("en", "the error persists, what should we do?", "reject"),
    ("en", "nice list, but I meant towns by the sea", "reject"),
    ("en", "no, I meant the other file", "reject"),
    ("en", "I give up", "abandon"),
    ("en", "nvm", "abandon"),
    ("en", "I'll just do it myself", "abandon"),
    ("en", "thx!", "thanks"),
    ("en", "That works, great", "thanks"),
    ("en", "I'll take the second one", "action"),
    ("en", "what about the red one?", "follow"),
    ("en", "Please go on.", "follow"),
    ("en", "no problem", "veto"),
    ("en", "We aren't keen on brass bands", "reject_stated"),
    ("en", "brass isn't really our thing", "reject_stated"),
    ("en", "I think I'll pass on the tuba", "reject_stated"),
    ("en", "a bit too brassy", "reject_stated"),
    ("en", "No, move it to Tuesday", "reject_stated"),
    ("en", "please look for another band", "reject"),
    ("en", "I just want to know who plays", "meant"),
    ("en", "ok, and where do you live?", "ask_agent"),
    ("de", "Das ist leider falsch.", "reject"),
    ("de", "Geht immer noch nicht", "reject"),
    ("fr", "Tu as oublié le tri", "reject"),
    ("zh", "你忘了排序", "reject"),
    ("es", "Sigue sin funcionar", "reject"),
    ("fr", "il y a une faute de frappe dans ta requête", "reject"),
    ("fr", "J'ai toujours ce message en lançant le serveur", "reject"),
    ("fr", "remets la page d'accueil comme avant", "reject"),
    ("fr", "la page plante au chargement", "reject_stated"),
    ("fr", "le bouton est en double", "reject_stated"),
    ("de", "da ist ein Fehler in deinem Skript", "reject"),
    ("de", "mach die letzte Änderung rückgängig", "reject"),
    ("de", "die App stürzt beim Start ab", "reject_stated"),
    ("de", "am Zehnten kann ich leider da nicht", "reject_stated"),
    ("de", "da habe ich den ganzen Tag einen Termin", "reject_stated"),
    ("de", "Anfang Februar ist bei mir eher schlecht", "reject_stated"),
    ("es", "hay un error en tu consulta", "reject"),
    ("es", "la ventana se cuelga al abrir", "reject_stated"),
    ("zh", "你的代码有错误", "reject"),
    ("zh", "打开页面就崩溃了", "reject_stated"),
    ("de", "Das habe ich nicht gemeint", "reject"),
    ("de", "Das funktioniert nicht", "reject"),
    ("de", "Vergiss es, ich suche woanders", "abandon"),
    ("de", "Vielen Dank, das hilft mir sehr", "thanks"),
    ("de", "Und wie ist das mit dem Preis?", "follow"),
    ("fr", "Je n'aime pas ce film", "reject_stated"),
    ("fr", "je n'aime pas", "reject_stated"),
    ("es", "No me gusta nada", "reject_stated"),
    ("es", "No, es París", "reject_stated"),
    ("fr", "Ce n'est pas ce que j'ai demandé", "reject"),
    ("fr", "c'est faux, je ne suis pas d'accord", "reject"),
    ("fr", "Laisse tomber, je vais chercher ailleurs", "abandon"),
    ("fr", "Merci, c'est parfait pour moi", "thanks"),
    ("fr", "Non, je voulais dire le train de nuit", "reject"),
    ("es", "No es lo que te pedí", "reject"),
    ("es", "Eso no es correcto, me refería a la otra", "reject"),
    ("es", "Olvídalo, lo haré yo mismo", "abandon"),
    ("es", "Muchas gracias, eso es todo", "thanks"),
    ("zh", "不对，我的意思是明天", "reject"),
    ("zh", "这不是我要的", "reject"),
    ("zh", "算了，我自己来", "abandon"),
    ("zh", "谢谢，很有帮助", "thanks"),
    ("it", "La risposta è sbagliata", "reject"),
    ("it", "No, non e' vero.", "reject"),
    ("it", "Non è quello che ti ho chiesto", "reject"),
    ("it", "Scusa, intendevo il treno di notte", "reject"),
    ("it", "non hai capito la domanda", "reject"),
    ("it", "Non funziona, lo stesso errore", "reject"),
    ("it", "c'è un errore nella tua query", "reject"),
    ("it", "la pagina non si apre", "reject_stated"),
    ("it", "è troppo caro", "reject_stated"),
    ("it", "Lascia perdere, lo cerco altrove", "abandon"),
    ("it", "Grazie mille, molto gentile", "thanks"),
    ("it", "Perfetto, adesso funziona", "thanks"),
    ("it", "va bene, lo prendo", "action"),
    ("it", "e quanto costa il biglietto?", "follow"),
    ("it", "nessun problema", "veto"),
    ("fr", "le problème persiste", "reject"),
    ("fr", "Pourquoi as-tu supprimé la barre ?", "reject"),
    ("fr", "j'ai une erreur au lancement", "reject_stated"),
    ("fr", "la barre n'est plus visible", "reject_stated"),
    ("es", "el error persiste", "reject"),
    ("es", "¿por qué borraste la barra?", "reject"),
    ("es", "me sale este error", "reject_stated"),
    ("es", "no puedo abrir la ventana", "reject_stated"),
    ("de", "Der Fehler besteht weiterhin", "reject"),
    ("de", "Warum hast du die Leiste gelöscht?", "reject"),
    ("de", "ich bekomme jetzt einen Fehler", "reject_stated"),
    ("it", "il problema persiste", "reject"),
    ("it", "ho ancora un errore", "reject_stated"),
    ("zh", "还是不行", "reject"),
    ("zh", "還是報錯", "reject"),
    ("zh", "依然没有变化", "reject"),
    ("zh", "问题没有解决", "reject"),
    ("zh", "其实根本没保存", "reject"),
    ("zh", "但是图片不显示", "reject"),
    ("zh", "不是这个意思", "reject"),
    ("zh", "你为什么删除我的注释", "reject"),
    ("zh", "为什么会报错", "reject_stated"),
    ("zh", "排序也有问题", "reject_stated"),
    ("zh", "页面出现了一个错误", "reject_stated"),
    ("zh", "报错了", "reject_stated"),
    ("zh", "登录失败", "reject_stated"),
    ("zh", "这个顺序不对啊", "reject_stated"),
]


def test_names_are_unique_and_start_with_a_language() -> None:
    names = [p.name for p in ALL]
    assert len(names) == len(set(names))
    assert {n.partition(".")[0] for n in names} == set(LANGUAGES)
    assert {pattern.kind for pattern in ALL} <= set(KINDS)


def test_a_text_is_tried_with_the_patterns_of_its_own_language() -> None:
    assert not {"follow", "thanks"} & kinds_in("also das geht, danke")
    assert not human_hits(prepare("that's wrong, thanks"), "de")
    assert human_hits(prepare("that's wrong, thanks"), "other") == ()


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("zh", "没有用。", "thanks"),
        ("zh", "演出太晚了还有车吗", "reject"),
        ("de", "das Wetter ist mir doch egal", "abandon"),
        ("de", "das kann ich nicht finden", "reject_stated"),
        ("de", "bei mir ist alles gut", "reject_stated"),
        ("en", "once you broke the window", "reject"),
        ("en", "did you read the paper?", "reject"),
        ("en", "I meant to see that film, too", "reject"),
        ("en", "the tower remains standing", "reject"),
        ("en", "go on holiday with me", "follow"),
        ("en", "Because I hate them.", "reject_stated"),
        ("fr", "Non merci", "thanks"),
        ("it", "No, grazie", "thanks"),
        ("it", "Grazie alla dieta sto meglio", "thanks"),
        ("it", "le mie abitudini sono sbagliate", "reject"),
        ("it", "mangio bene, non è vero?", "reject"),
        ("it", "mio marito ha sbagliato strada", "reject"),
        ("it", "il treno non parte prima delle otto", "reject"),
        ("it", "non mi piace la frutta", "reject_stated"),
        ("it", "la mattina e il pomeriggio lavoro", "follow"),
        ("fr", "Je n'aime pas la pluie !", "reject_stated"),
        ("es", "No me gusta viajar en verano", "reject_stated"),
        ("es", "No me lo puedo creer", "reject_stated"),
        ("es", "No es problema", "reject_stated"),
        ("de", "im Sommer mag ich nicht reisen", "reject"),
        ("de", "im Sommer mag ich nicht reisen", "reject_stated"),
        ("en", "That's terrible weather!", "reject"),
        ("en", "I don't believe it!", "reject_stated"),
        ("it", "volevo dire che mi piace", "reject"),
        ("it", "il mio computer non funziona", "reject"),
        ("it", "non funziona il mio telefono", "reject"),
        ("en", "search for another one in Paris as well", "reject"),
        ("en", "The strap does not go too far", "reject_stated"),
        ("en", "No. That will be all.", "reject_stated"),
        ("en", "he's not, I like him fine", "reject_stated"),
        ("en", "it is for an aunt who I don't like", "reject_stated"),
        ("en", "and when I pass the list to it", "reject_stated"),
        ("en", "look for another way in", "reject"),
        ("en", "I wanted to know more", "meant"),
        ("en", "did your change work?", "ask_agent"),
        ("fr", "que faire si j'ai une erreur ?", "reject_stated"),
        ("es", "qué hago si tengo un error", "reject_stated"),
        ("zh", "如果登录失败，提示用户", "reject_stated"),
        ("zh", "需要考虑成功还是失败吗", "reject"),
        ("zh", "有没有生效", "reject"),
        ("zh", "先登录，好不好，然后排序", "reject_stated"),
        ("zh", "不好意思我弄错了", "reject"),
        ("zh", "确保页面不会加载失败", "reject_stated"),
        ("zh", "只需要打开就可以了", "thanks"),
        ("zh", "不是最快的那个", "reject"),
        ("zh", "不清楚这个怎么用", "cue_no"),
    ],
)
def test_what_a_pattern_must_leave_alone(language: str, text: str, kind: str) -> None:
    assert kind not in kinds_in(text, language)


@pytest.mark.parametrize(("language", "text", "kind"), PLAIN)
def test_plain_sentences(language: str, text: str, kind: str) -> None:
    assert kind in kinds_in(text, language)


@pytest.mark.parametrize(
    "text", ["Which bus goes to the market?", "My sister lives in Oslo", "the third one in the row"]
)
def test_plain_requests_and_statements_reject_nothing(text: str) -> None:
    assert not {"reject", "abandon", "thanks", "action"} & kinds_in(text)


@pytest.mark.parametrize(
    ("source", "strings"),
    [
        (r"\bno (?:sense|luck)\b", {"sense", "luck"}),
        (r"^(?:no[,. ]+)?(?:wrong|not true)$", {"wrong", "true"}),
        (r"\bnvm\b|\bworries?\b(?! about)", {"nvm", "worrie"}),
        (r"h?m+|uh", {"m", "uh"}),
        (r"(?:so ){0,2}(?<!not )too (?:[a-z]|\w+)", {"too"}),
        (r"\w+\?", {"?"}),
        (r"a*|[bc]", {""}),
    ],
)
def test_a_match_needs_one_of_the_longest_strings(source: str, strings: set[str]) -> None:
    assert required(source) == strings


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_match_is_missed_for_its_required_strings(language: str) -> None:
    rows = [json.loads(line) for line in Path(__file__).with_name("contrast.jsonl").read_text("utf-8").splitlines()]
    for text in map(prepare, ["", *(row["message"] for row in rows), *(text for _, text, _ in PLAIN)]):
        matches = [p for p in patterns_of(language) if p.regex.search(text.excerpt)]
        assert list(human_hits(text, language)) == [p for p in matches if not p.kind.startswith("agent_")]


def _pieces(pattern: Pattern) -> list[str]:
    """Return words of the expression itself, whose repetition comes closest to matching it."""
    words = [w for w in re.split(r"[^\w' ]+", re.sub(r"\\[a-zA-Z]|\{\d+,?\d*\}", " ", pattern.source)) if w.strip()]
    return [*dict.fromkeys(words), " ", ",", "a", "no, ", "i ", "不", "ok, ", "!"]


@pytest.mark.parametrize("pattern", ALL, ids=lambda p: p.name)
def test_no_pattern_is_slow_on_any_text(pattern: Pattern) -> None:
    rng = random.Random(1)
    pieces = _pieces(pattern)
    longest = HEAD + TAIL
    texts = [(piece * longest)[:longest] for piece in pieces]
    texts += [between.join(rng.choices(pieces, k=longest))[:longest] for between in ("", " ") for _ in range(5)]
    worst = 0.0
    for text in texts:
        started = time.process_time()
        pattern.regex.search(text)
        worst = max(worst, time.process_time() - started)
    assert worst < 0.05
