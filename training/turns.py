"""Fetches the turns that `sources.jsonl` labels from their public repositories, as rows to evaluate or to teach with.

    python -m training.turns FOLDER [SOURCES]

fetches the commits that are named (with git; 23 of them) into FOLDER and writes FOLDER/turns.jsonl, which
`training.reader` and `agent-feedback evaluate` read. SOURCES is another file of pointers:
`training/sources_single.jsonl` has 240 turns of another owner that only one reader labelled. The texts are other
people's: keep the folder out of the repository. A turn counts only if its message has the digest that the label was
given to.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from detector.language import own_language
from detector.text import prepare

SOURCES: Final = Path(__file__).parent / "sources.jsonl"
TURNS: Final = "turns.jsonl"
HOST: Final = "https://github.com"
#: A longer answer keeps so many characters of its beginning and of its end.
KEPT: Final = 1_500

#: Label -> the label, the kind and the gate's reading of an evaluation row.
_READ_AS: Final[Mapping[str, tuple[str, str, str]]] = {
    "rejects": ("rejected", "explicit", "not_ok"),
    "asks_again": ("rejected", "rephrased", "not_ok"),
    "leaves": ("rejected", "abandonment", "not_ok"),
    "praises": ("accepted", "thanks", "ok"),
    "approves": ("accepted", "continuation", "neutral"),
    "request": ("accepted", "continuation", "neutral"),
    "answers": ("neutral", "none", "neutral"),
}
_HEAD: Final = re.compile(r"_\*\*(User|Agent|Assistant)\b[^\n]*\*\*_\s*\Z")
#: Tool calls, thinking and comments in an agent's block.
_ASIDE: Final = re.compile(
    r"<(details|think|tool-use)\b[^>]*>.*?(?:</\1>|\Z)|<!--.*?(?:-->|\Z)",
    re.DOTALL,
)

#: A history in the public: repository, commit and path.
Place = tuple[str, str, str]


class Turn(NamedTuple):
    """Message with the answer before it and the request before that, which may be empty."""

    request: str
    answer: str
    message: str


def turns(history: str) -> Iterator[Turn]:
    """Yield the turns of a SpecStory history; consecutive blocks of one speaker are joined."""
    request = answer = ""
    for speaker, text in _blocks(history):
        if speaker == "agent":
            answer = text
            continue
        if answer:
            yield Turn(request, _shortened(answer), text)
        request, answer = text, ""


def _blocks(history: str) -> Iterator[tuple[str, str]]:
    blocks: list[tuple[str, list[str]]] = []
    for line in history.split("\n"):
        if head := _HEAD.match(line):
            speaker = "user" if head[1] == "User" else "agent"
            if not blocks or blocks[-1][0] != speaker:
                blocks.append((speaker, []))
        elif blocks:
            blocks[-1][1].append(line)
    for speaker, lines in blocks:
        while lines and lines[-1].strip() in ("", "---"):
            lines.pop()
        block = "\n".join(lines)
        if text := (block if speaker == "user" else _ASIDE.sub("", block)).strip():
            yield speaker, text


def _shortened(answer: str) -> str:
    return answer if len(answer) <= 2 * KEPT else f"{answer[:KEPT]} […] {answer[-KEPT:]}"


def digest(message: str) -> str:
    """Return the beginning of a message's SHA-256, as in `sources.jsonl`."""
    return hashlib.sha256(message.encode()).hexdigest()[:16]


def labelled(sources: Sequence[Mapping[str, Any]], histories: Mapping[Place, str]) -> list[dict[str, Any]]:
    """Return the labelled turns of the histories as rows; of equal messages in a history, each pointer takes the
    next."""
    waiting: defaultdict[tuple[Place, str], list[Turn]] = defaultdict(list)
    for pointer, history in histories.items():
        for turn in turns(history):
            waiting[pointer, digest(turn.message)].append(turn)
    rows = []
    for source in sources:
        matching = waiting[(source["repository"], source["commit"], source["path"]), source["digest"]]
        if matching:
            label, kind, gate = _READ_AS[source["label"]]
            request, answer, message = matching.pop(0)
            exchange = {"previous_user": request, "previous_assistant": answer, "message": message}
            classes = {"label": label, "kind": kind, "gate": gate, "sure": source["sure"]}
            rows.append({"source": source["repository"], "language": _language(message, answer), **classes, **exchange})
    return rows


def _language(*texts: str) -> str:
    """Return the language of the first text that reveals one, or else English."""
    prepared = map(prepare, texts)
    return next(filter(None, (own_language(text.text, text.words) for text in prepared)), "en")


def fetched(folder: Path, sources: Sequence[Mapping[str, Any]], host: str = HOST) -> dict[Place, str]:
    """Fetch the histories that the pointers name into `folder`; print which commits are unavailable, and the reason."""
    paths: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for source in sources:
        paths[source["repository"], source["commit"]].add(source["path"])
    histories = {}
    for number, ((repository, commit), wanted) in enumerate(sorted(paths.items()), start=1):
        print(f"{number} of {len(paths)}: {repository}", flush=True)
        clone = folder / repository.replace("/", "+")
        try:
            _git("init", "--quiet", "--bare", str(clone))
            _git("-C", str(clone), "fetch", "--quiet", "--depth=1", f"{host}/{repository}.git", commit)
            for path in sorted(wanted):
                histories[repository, commit, path] = _git("-C", str(clone), "show", f"{commit}:{path}")
        except subprocess.CalledProcessError as error:
            print(f"  left out: {error.stderr.decode('utf-8', 'replace').strip()[:200]}", flush=True)
    return histories


def _git(*command: str) -> str:
    done = subprocess.run(["git", *command], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def main(folder: Path, sources: Path = SOURCES, host: str = HOST) -> None:
    """Fill the folder, and print how many of the labelled turns were found."""
    folder.mkdir(parents=True, exist_ok=True)
    pointers = [json.loads(line) for line in sources.read_text(encoding="utf-8").splitlines()]
    rows = labelled(pointers, fetched(folder, pointers, host))
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / TURNS).write_text(lines, encoding="utf-8")
    print(
        f"{len(rows)} of {len(pointers)} labelled turns: agent-feedback evaluate {folder / TURNS} --by source --table"
    )


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else SOURCES)
