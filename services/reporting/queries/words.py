"""Patterns of searched words. Pure."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)
"""Letters of scripts without spaces, as in the database function `search_pairs`."""
_MOST: Final = 10


def patterns(words: str) -> list[str]:
    """Return a PostgreSQL pattern for each word, at most 10: a text matches if it contains all of them.

    A word matches at the beginning of a longer one. Letters of a script without spaces match anywhere.
    """
    spaced = [f"(^|[^[:alnum:]]){word}" for word in _WORD.findall(_RUN.sub(" ", words))]
    return list(dict.fromkeys([*spaced, *_RUN.findall(words)]))[:_MOST]
