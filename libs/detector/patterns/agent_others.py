"""German, French, Spanish and Chinese: what the agent's message does; and what shows in any language."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

_ASKS: Final = r"[?？][\"')»” ]*$"

PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    "de": table(
        "de",
        ("agent_asks", "agent_asks", _ASKS + r"|\bbitte (?:sagen|nennen|geben|wählen) sie\b"),
        (
            "agent_confirms",
            "agent_confirms",
            (
                r"\b(?:stimmt das|ist das (?:richtig|korrekt|so richtig|in ordnung)|passt das|richtig so|bitte"
                r" bestätigen)\b"
            ),
        ),
        (
            "agent_proposes",
            "agent_proposes",
            r"\b(?:soll ich|sollen wir|möchten sie|möchtest du|wollen sie|willst du|wollen wir)\b[^?]{0,120}\?",
        ),
        (
            "agent_fails",
            "agent_fails",
            r"\b(?:leider|tut mir leid|nicht (?:möglich|gefunden|verfügbar)|entschuldigung)\b",
        ),
        ("agent_closes", "agent_closes", r"\b(?:sonst noch|noch etwas|auf wiedersehen|gern geschehen|schönen tag)\b"),
    ),
    "fr": table(
        "fr",
        ("agent_asks", "agent_asks", _ASKS),
        (
            "agent_confirms",
            "agent_confirms",
            (
                r"\b(?:c'est (?:bien ça|correct|exact)|est-ce (?:correct|exact|bien ça)|veuillez confirmer|vous"
                r" confirmez)\b"
            ),
        ),
        (
            "agent_proposes",
            "agent_proposes",
            r"\b(?:voulez-vous|veux-tu|souhaitez-vous|dois-je|est-ce que je (?:dois|peux)|puis-je)\b[^?]{0,120}\?",
        ),
        ("agent_fails", "agent_fails", r"\b(?:désolée?|malheureusement|impossible|je ne (?:trouve|peux|comprends))\b"),
        ("agent_closes", "agent_closes", r"\b(?:autre chose|au revoir|de rien|bonne journée|je vous en prie)\b"),
    ),
    "es": table(
        "es",
        ("agent_asks", "agent_asks", _ASKS),
        (
            "agent_confirms",
            "agent_confirms",
            r"\b(?:es (?:correcto|así|eso)|confirma|confirme|¿correcto|está bien así)\b",
        ),
        (
            "agent_proposes",
            "agent_proposes",
            r"\b(?:quiere que|quieres que|desea que|le gustaría|te gustaría|desea)\b[^?]{0,120}\?",
        ),
        ("agent_fails", "agent_fails", r"\b(?:lo siento|lamentablemente|no (?:hay|puedo|encuentro|existe|entiendo))\b"),
        ("agent_closes", "agent_closes", r"\b(?:algo más|alguna otra|adiós|de nada|buen viaje|buenos días)\b"),
    ),
    "zh": table(
        "zh",
        ("agent_asks", "agent_asks", r"[?？]$|(?:吗|嗎|呢)[。 ]*$"),
        ("agent_confirms", "agent_confirms", r"(?:对吗|對嗎|是吗|是嗎|请确认|請確認)"),
        ("agent_proposes", "agent_proposes", r"(?:需要我|要不要|要我|您想|你想)[^?？]{0,60}(?:[?？]|吗|嗎)"),
        ("agent_fails", "agent_fails", r"(?:抱歉|对不起|對不起|没有找到|沒有找到|无法|無法)"),
        ("agent_closes", "agent_closes", r"(?:还有什么|還有什麼|再见|再見|不客气|不客氣|祝您|祝你)"),
    ),
}

#: What shows in any language.
ANY: Final = table("any", ("agent_asks", "agent_asks", _ASKS))
