"""Patterns for agents' messages in languages other than English, or in any language."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

_ASKS: Final = r"[?？][\"')»” ]*$"


def _detail(openers: str, questions: str) -> str:
    """Return a regular expression for a question that asks to confirm a detail, such as "to Bilbao, from Vigo?".

    Args:
        openers: Alternatives for the beginning of the question.
        questions: Alternatives that must not follow, because the question would then ask for the detail itself.
    """
    return rf"(?:^|[,.;:¿] ?)(?:{openers}) (?!{questions})[^?,.;]{{1,40}}\?[. ]*$"


PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    "de": table(
        "de",
        ("agent_asks", "agent_asks", _ASKS + r"|\bbitte (?:sagen|nennen|geben|wählen) sie\b"),
        (
            "agent_confirms",
            "agent_confirms",
            r"\b(?:stimmt das|ist das (?:richtig|korrekt|so richtig|in ordnung)|passt das|richtig so|bitte"
            r" bestätigen)\b"
            r"|" + _detail("ab|von|nach|für|um|am|mit|bis", r"(?:we[mn]|wo|wann|was|welche[mnrs]?|wie)\b"),
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
            r"\b(?:c'est (?:bien ça|correct|exact)|est-ce (?:correct|exact|bien ça)|veuillez confirmer|vous"
            r" confirmez)\b"
            r"|" + _detail("depuis|pour|vers|avec|au départ de|à partir de", "(?:quel|qui|quoi|où|quand|combien)"),
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
            r"\b(?:es (?:correcto|así|eso)|confirma|confirme|¿correcto|está bien así)\b"
            r"|"
            + _detail(
                "desde|hasta|para|hacia|con|saliendo de|a", "(?:qué|que|quién|quien|cuá|cua|dónde|donde|cómo|como)"
            ),
        ),
        (
            "agent_proposes",
            "agent_proposes",
            r"\b(?:quiere que|quieres que|desea que|le gustaría|te gustaría|desea)\b[^?]{0,120}\?",
        ),
        ("agent_fails", "agent_fails", r"\b(?:lo siento|lamentablemente|no (?:hay|puedo|encuentro|existe|entiendo))\b"),
        ("agent_closes", "agent_closes", r"\b(?:algo más|alguna otra|adiós|de nada|buen viaje|buenos días)\b"),
    ),
    "it": table(
        "it",
        ("agent_asks", "agent_asks", _ASKS),
        (
            "agent_confirms",
            "agent_confirms",
            r"\b(?:(?:è|e') (?:corretto|giusto|esatto|così)|va bene così|mi conferma|confermi|conferma)\b"
            r"|"
            + _detail("da|dal|per|verso|con|fino a|in partenza da", "(?:che|chi|cosa|dove|quando|qual|quant|come)"),
        ),
        (
            "agent_proposes",
            "agent_proposes",
            (
                r"\b(?:vuoi che|vuole che|desidera che|desideri che|ti va di|le va di|le andrebbe|ti piacerebbe"
                r"|le piacerebbe|devo)\b[^?]{0,120}\?"
            ),
        ),
        (
            "agent_fails",
            "agent_fails",
            r"\b(?:mi dispiace|purtroppo|non (?:trovo|posso|riesco|capisco|esiste|(?:è|e') disponibile))\b",
        ),
        ("agent_closes", "agent_closes", r"\b(?:qualcos'altro|arrivederci|di nulla|buona (?:giornata|serata))\b"),
    ),
    "pt": table(
        "pt",
        ("agent_asks", "agent_asks", _ASKS),
        (
            "agent_confirms",
            "agent_confirms",
            r"\b(?:(?:está|é) (?:correto|certo|isso)|confirma|confirme|pode confirmar|certo\?)"
            r"|" + _detail("de|desde|para|até|com|saindo de", "(?:que|quem|onde|quando|qua[il]|quant|como)"),
        ),
        (
            "agent_proposes",
            "agent_proposes",
            (
                r"\b(?:quer que|queres que|deseja que|gostaria (?:que|de que)|gostarias que|posso (?:reservar|marcar"
                r"|fazer|enviar)|devo)\b[^?]{0,120}\?"
            ),
        ),
        (
            "agent_fails",
            "agent_fails",
            r"\b(?:desculpe|desculpa|lamento|sinto muito|infelizmente|não (?:há|posso|consigo|encontr|existe|entend))",
        ),
        ("agent_closes", "agent_closes", r"\b(?:mais alguma coisa|algo mais|de nada|adeus|tchau|bom dia|boa noite)\b"),
    ),
    "zh": table(
        "zh",
        ("agent_asks", "agent_asks", r"[?？]$|(?:吗|嗎|呢)[。 ]*$"),
        ("agent_confirms", "agent_confirms", r"(?:对吗|對嗎|是吗|是嗎|请确认|請確認)"),
        ("agent_proposes", "agent_proposes", r"(?:需要我|要不要|要我|您想|你想)[^?？]{0,60}(?:[?？]|吗|嗎)"),
        ("agent_fails", "agent_fails", r"(?:抱歉|对不起|對不起|没有找到|沒有找到|无法|無法)"),
        ("agent_closes", "agent_closes", r"(?:还有什么|還有什麼|再见|再見|不客气|不客氣|祝您|祝你)"),
    ),
    "ja": table(
        "ja",
        ("agent_asks", "agent_asks", r"[?？]$|(?:です|ます|ません|でしょう|ました)か[。 ]*$"),
        (
            "agent_confirms",
            "agent_confirms",
            r"(?:よろしいでしょうか|よろしいですか|合っていますか|間違いありませんか|ご確認ください)",
        ),
        ("agent_proposes", "agent_proposes", r"(?:しましょうか|いたしましょうか|進めますか|ご希望ですか|必要ですか)"),
        ("agent_fails", "agent_fails", r"(?:申し訳|すみません|できません|見つかりません|失敗しました)"),
        ("agent_closes", "agent_closes", r"(?:他に(?:何か|ご質問)|どういたしまして|お役に立て)"),
    ),
    "ru": table(
        "ru",
        ("agent_asks", "agent_asks", _ASKS),
        ("agent_confirms", "agent_confirms", r"\b(?:верно|правильно|всё так|подтвердите|подтверди)\b[^?]{0,20}\?"),
        (
            "agent_proposes",
            "agent_proposes",
            r"\b(?:хотите|хочешь|желаете|мне продолжить|продолжить|нужно ли)\b[^?]{0,120}\?",
        ),
        ("agent_fails", "agent_fails", r"\b(?:к сожалению|извините|не (?:могу|удалось|нашёл|найден))"),
        ("agent_closes", "agent_closes", r"\b(?:что-нибудь ещё|что-то ещё|пожалуйста, обращай|до свидания)"),
    ),
}

#: Patterns for any language.
ANY: Final = table("any", ("agent_asks", "agent_asks", _ASKS))
