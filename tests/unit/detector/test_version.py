"""The detector's version: its release grows with the digest of all that affects a verdict, and orders verdicts."""

from __future__ import annotations

import tokenize
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from shutil import copytree

import pytest

from contracts.detectors import DetectorVersion, precedence
from detector import rules
from detector.detector import Detector
from detector.version import DIGEST, RELEASE, version, version_with_gate
from inference.llm_gate import gate

HOMES = [Path(str(module.__file__)).parent for module in (rules, gate)]
APART = frozenset({"evaluation", "explain.py", "reasons.py", "version.py", "choice.py", "measured.py", "store.py"})
"""Files and folders that do not affect verdicts."""
LAYOUT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.ENCODING})
BREAKS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


def code(source: bytes) -> bytes:
    """Return the tokens of a module without imports, comments, docstrings and the width of indentation."""
    tokens = [token for token in tokenize.tokenize(BytesIO(source).readline) if token.type not in LAYOUT]
    kept: list[str] = []
    is_skipped = False
    for number, token in enumerate(tokens):
        if number == 0 or tokens[number - 1].type in BREAKS:
            is_docstring = token.type == tokenize.STRING and tokens[number + 1].type == tokenize.NEWLINE
            is_skipped = is_docstring or token.string in ("import", "from")
        if not is_skipped:
            kept.append(tokenize.tok_name[token.type] if token.type in BREAKS else token.string)
        is_skipped = is_skipped and token.type != tokenize.NEWLINE
    return "\0".join(kept).encode()


def digest_of(*homes: Path) -> str:
    """Return a digest of the code and data in these folders."""
    digest = sha256()
    for home in homes:
        files = [file for suffix in ("py", "json", "tsv", "onnx") for file in home.rglob(f"*.{suffix}")]
        for file in sorted(files):
            path = file.relative_to(home)
            if not APART & set(path.parts):
                content = code(file.read_bytes()) if file.suffix == ".py" else file.read_bytes()
                digest.update(path.as_posix().encode() + sha256(content).digest())
    return digest.hexdigest()[:16]


def test_the_release_grows_with_what_affects_a_verdict() -> None:
    current = digest_of(*HOMES)
    assert current == DIGEST, (
        f"The detector or the LLM gate changed. Set DIGEST in libs/detector/version.py to {current!r} and, unless no"
        f" verdict can change, RELEASE to {RELEASE + 1}, so that `agent-feedback rejudge` judges messages again."
    )


@pytest.mark.parametrize(
    ("file", "addition", "is_change"),
    [
        ("weights/classifier.json", " ", True),
        ("weights/reader.onnx", " ", True),
        ("patterns/en.tsv", "\n", True),
        ("rules.py", "\nMORE = 1\n", True),
        ("rules.py", '\n# A comment.\n"""A docstring."""\n', False),
        ("rules.py", "\nfrom math import (\n    pi,\n)\n", False),
        ("explain.py", "\nMORE = 1\n", False),
        ("evaluation/scoring.py", "\nMORE = 1\n", False),
    ],
)
def test_the_digest_covers_code_patterns_and_weights(tmp_path: Path, file: str, addition: str, is_change: bool) -> None:
    home = Path(copytree(HOMES[0], tmp_path / "detector"))
    before = digest_of(home)
    with (home / file).open("a") as changed:
        changed.write(addition)
    assert (digest_of(home) != before) == is_change


def test_models_make_other_versions_of_the_same_release() -> None:
    words, encoder, other = version("words", None), version("words", "minilm"), version("words", "other")
    small, large = version_with_gate(encoder, "small"), version_with_gate(encoder, "large")
    assert len({one.digest for one in (words, encoder, other, small, large)}) == 5
    assert {one.release for one in (words, encoder, other, small, large)} == {RELEASE}
    assert words.mode < encoder.mode == other.mode < version_with_gate(words, "small").mode < small.mode == large.mode


def test_a_detector_knows_its_version(detector: Detector) -> None:
    assert str(detector.version).startswith(f"{RELEASE}.")
    assert str(detector.version).endswith("-words")
    assert DetectorVersion.parse(str(detector.version)) == detector.version == Detector.default().version
    assert precedence(str(detector.version)) == (RELEASE, 0)
