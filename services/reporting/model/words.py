"""Patterns that match search words. No I/O."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
"""Letters of scripts without spaces between words. The database function `search_pairs` has the same list."""
_MOST: Final = 10


def patterns(words: str) -> list[str]:
    """Return PostgreSQL regular expressions for the search words, at most 10. A text must match all of them.

    A search word matches a whole word or the beginning of a longer word. In scripts without spaces, it matches
    anywhere.
    """
    spaced = [f"(^|[^[:alnum:]]){word}" for word in _WORD.findall(_RUN.sub(" ", words))]
    return list(dict.fromkeys([*spaced, *_RUN.findall(words)]))[:_MOST]
