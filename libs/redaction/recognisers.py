"""Recognisers of what must not be stored, and the rules that select them for a project. No I/O.

Payment cards (Luhn) and IBANs (modulo 97) have a checksum. A card number must begin and end at the boundary of a digit
group, and the length of an IBAN is determined by its country. Mail addresses, phone numbers, API keys and a project's
own patterns are found with RE2. All recognisers take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, Final, Literal, NamedTuple

import re2
from pydantic import BaseModel, Field, StringConstraints, field_validator

WHOLE: Final = "text"
"""Mask kind for a text that is masked as a whole."""


class MaskedSpan(NamedTuple):
    """Part of a text to redact, from `start` up to `end`, with the kind of its content, such as `card`."""

    start: int
    end: int
    kind: str


Recogniser = Callable[[str], Iterable[MaskedSpan]]
"""Function that returns the spans of a text that must not be stored. It must be deterministic."""


SEPARATOR: Final = (
    r"(?:[\t\n\r ./_\u00a0\u00ad\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff\u2010-\u2015\u2212-]|&nbsp;){0,4}"
)
"""Separators between the digits of a number: white space, hyphens, dots, slashes, underscores, invisible characters."""
_RUN: Final = re.compile(rf"\d(?:{SEPARATOR}\d){{12,}}")
_ISSUERS: Final = (
    (r"4", (13, 16, 19)),  # Visa
    (r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", (16,)),  # Mastercard
    (r"3[47]", (15,)),  # American Express
    (r"30[0-5]|309|3[689]", range(14, 20)),  # Diners Club
    (r"35(?:2[89]|[3-8])", range(16, 20)),  # JCB
    (r"6011|64[4-9]|65|62|81", range(16, 20)),  # Discover, UnionPay
    (r"220[0-4]", range(16, 20)),  # Mir
    (r"5018|5020|5038|5893|6304|6759|676[1-3]", range(13, 20)),  # Maestro
)
"""First digits of cards and the lengths of their numbers."""
_ISSUER: Final = re.compile("|".join(f"({first})" for first, _ in _ISSUERS))
_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

IBAN_LENGTHS: Final = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE", "BI"), 16),
    **dict.fromkeys(("DK", "FK", "FO", "FI", "GL", "NL", "SD"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "XK", "LT", "LU", "MN"), 20),
    **dict.fromkeys(("CR", "CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "DE", "GE", "IE", "ME", "RS", "GB", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("DJ", "FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    **dict.fromkeys(("LC",), 32),
    **dict.fromkeys(("RU",), 33),
}
"""Length of an IBAN by country."""
_COUNTRY: Final = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=IBAN))({'|'.join(sorted(IBAN_LENGTHS))})\d\d", re.IGNORECASE)
_NEXT: Final = re.compile(rf"{SEPARATOR}([A-Za-z0-9])")


def is_iban(text: str) -> bool:
    """Return True if `text` is an IBAN without separators, with its country's length and a valid checksum."""
    if IBAN_LENGTHS.get(text[:2].upper()) != len(text):
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def cards(text: str) -> Iterator[MaskedSpan]:
    """Yield the payment card numbers in a text, with or without separators.

    If several card numbers begin at the same position, only the longest is yielded.
    """
    for run in _RUN.finditer(text):
        places = [index for index in range(run.start(), run.end()) if text[index].isdecimal()]
        values = [int(text[index]) for index in places]
        digits = "".join(map(str, values))
        sums = _luhn_sums(values)
        last = len(places) - 1
        begins = [n == 0 or places[n - 1] != index - 1 for n, index in enumerate(places)]
        ends = [n == last or places[n + 1] != index + 1 for n, index in enumerate(places)]
        free = 0
        for first, begins_group in enumerate(begins):
            if not begins_group or first < free or (issuer := _ISSUER.match(digits, first)) is None:
                continue
            for length in sorted(_ISSUERS[(issuer.lastindex or 0) - 1][1], reverse=True):
                end = first + length
                if end <= len(places) and ends[end - 1] and (sums[end % 2][end] - sums[end % 2][first]) % 10 == 0:
                    yield MaskedSpan(places[first], places[end - 1] + 1, "card")
                    free = end
                    break


def _luhn_sums(values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return two lists of Luhn prefix sums: for card numbers that end at an even position, and at an odd position."""
    doubled = [_DOUBLED[value] for value in values]
    even = [double if n % 2 == 0 else value for n, (value, double) in enumerate(zip(values, doubled, strict=True))]
    odd = [double if n % 2 == 1 else value for n, (value, double) in enumerate(zip(values, doubled, strict=True))]
    return [0, *accumulate(even)], [0, *accumulate(odd)]


def ibans(text: str) -> Iterator[MaskedSpan]:
    """Yield the IBANs in a text, in upper or lower case, with or without separators."""
    for head in _COUNTRY.finditer(text):
        number, end, length = head[0], head.end(), IBAN_LENGTHS.get(head[1].upper(), 0)
        while len(number) < length and (following := _NEXT.match(text, end)):
            number, end = number + following[1], following.end()
        if is_iban(number) and not text[end : end + 1].isalnum():
            yield MaskedSpan(head.start(), end, "iban")


_MEMORY: Final = 1 << 22
KEY: Final = "|".join(
    (
        r"sk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
        r"whsec_[A-Za-z0-9+/=]{20,}",
        r"gh[oprsu]_[A-Za-z0-9]{36,}",  # GitHub
        r"github_pat_[A-Za-z0-9_]{22,}",
        r"glpat-[A-Za-z0-9_-]{20,}",  # GitLab
        r"xox[abceoprs]-[A-Za-z0-9-]{10,}",  # Slack
        r"xapp-[A-Za-z0-9-]{10,}",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
        r"AIza[A-Za-z0-9_-]{35}",  # Google
        r"hf_[A-Za-z0-9]{30,}",  # Hugging Face
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-[A-Za-z0-9_-]{50,}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",  # JSON Web Token
        # A private key without an end reaches to the end of the text.
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\z)",
    )
)
"""Pattern for API keys with a well-known prefix."""
MAIL: Final = r"[\pL\pN._%+-]+@(?:[\pL\pN-]+\.)+\pL{2,24}"
_PHONE_GAP: Final = r"[ ./()-]{0,3}"
PHONE: Final = "|".join(
    (
        rf"(?:\+|00)[1-9](?:{_PHONE_GAP}\d){{7,14}}",  # +49 30 1234567
        r"\(\d{2,5}\) ?\d{2,4}(?:[ -]?\d{2,4}){1,3}",  # (030) 123 4567
        r"0\d{1,4}[ /-]{1,3}\d{2,8}(?:[ -]?\d{2,4}){1,3}",  # 030/1234567
        r"\d{3}[ .-]\d{3}[ .-]\d{4}",  # 555-010-4477
    )
)
"""Usual spellings of phone numbers, which have no check digit."""
BOUNDARY: Final = r"(?:^|[^\pL\pN_])"
"""Start of the text, or a character that is not part of a word or number."""


class InvalidPattern(Exception):
    """Raised if a pattern is not valid for RE2."""


def pattern(source: str) -> Any:
    """Compile an RE2 pattern. Raises InvalidPattern."""
    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        return re2.compile(source, options)
    except re2.error:
        raise InvalidPattern from None


def recogniser(source: str, kind: str, group: int = 0) -> Recogniser:
    """Return a recogniser for all matches of an RE2 pattern, or for one capture group of each match.

    Raises InvalidPattern.
    """
    compiled = pattern(source)

    def find(text: str) -> Iterator[MaskedSpan]:
        for match in compiled.finditer(encodable(text)):
            start, end = match.span(group)
            yield MaskedSpan(start, end, kind)

    return find


def bounded(source: str, kind: str) -> Recogniser:
    """Return a recogniser like `recogniser`, except that matches cannot begin inside a word or number."""
    return recogniser(f"{BOUNDARY}({source})", kind, 1)


def encodable(text: str) -> str:
    """Return `text` with question marks in place of lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


Kind = Literal["card", "iban", "key", "mail", "phone"]
PatternName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
PATTERNS_LIMIT: Final = 50
"""Maximum number of a project's own patterns."""
BUILT_IN: Final[tuple[Kind, ...]] = ("card", "iban", "key", "mail", "phone")
_PLACE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}/[A-Za-z0-9._-]{1,64}")
_STARS: Final = "**"


class RedactionRules(BaseModel):
    """Recognisers to use for each project.

    `kinds` are the built-in recognisers to use. `patterns` are additional RE2 patterns by name, for all projects.
    `patterns_of` changes these patterns for single projects, named as `tenant/project`; null removes a pattern.
    `presidio_language` enables Microsoft Presidio for texts in that language, and `presidio_entities` are the entities
    that it redacts.
    """

    kinds: frozenset[Kind] = frozenset({"card", "iban", "key"})
    patterns: dict[PatternName, Pattern] = Field(default_factory=dict)
    patterns_of: dict[str, dict[PatternName, Pattern | None]] = Field(default_factory=dict)
    presidio_language: Annotated[str, StringConstraints(pattern=r"^([a-z]{2})?$")] = ""
    presidio_entities: tuple[str, ...] = ("PERSON",)

    @field_validator("patterns")
    @classmethod
    def _are_usable(cls, patterns: dict[str, str]) -> dict[str, str]:
        _check(patterns)
        return patterns

    @field_validator("patterns_of")
    @classmethod
    def _are_usable_in_projects(cls, tables: dict[str, dict[str, str | None]]) -> dict[str, dict[str, str | None]]:
        for project, patterns in tables.items():
            if not _PLACE.fullmatch(project):
                raise ValueError(f"{project!r} is not tenant/project")
            _check({name: source for name, source in patterns.items() if source is not None})
        return tables

    def patterns_in(self, project: str) -> Mapping[str, str]:
        """Return the additional patterns of a project by name. `project` is written as `tenant/project`."""
        changed = {**self.patterns, **self.patterns_of.get(project, {})}
        return {name: source for name, source in changed.items() if source is not None}


def _check(patterns: Mapping[str, str]) -> None:
    """Raise ValueError if there are too many patterns, or if one of them is unusable.

    A pattern is unusable if it is invalid, has the name of a built-in kind, or matches an empty text or a mask. A
    matching mask would be redacted again and again.
    """
    if len(patterns) > PATTERNS_LIMIT:
        raise ValueError(f"at most {PATTERNS_LIMIT} patterns")
    masks = [_STARS, *(f"[{name}]" for name in (*BUILT_IN, WHOLE, *patterns))]
    for name, source in patterns.items():
        if name in (*BUILT_IN, WHOLE):
            raise ValueError(f"{name!r} is the name of a built-in kind")
        try:
            compiled = pattern(source)
        except InvalidPattern:
            raise ValueError(f"the pattern {name!r} is not an RE2 pattern, or too large") from None
        if compiled.search(""):
            raise ValueError(f"the pattern {name!r} matches an empty text")
        if matched := next((mask for mask in masks if compiled.search(mask)), None):
            raise ValueError(f"the pattern {name!r} matches the mask {matched}")
