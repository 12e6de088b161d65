"""Reads exports with Hugging Face's `datasets`, and has TRL turn them into the texts that it trains on.

    python read_exports.py FOLDER     # prints the number of examples of each format

The folder holds FORMAT.jsonl. The formats are those of TRL's page "Dataset formats and types":
conversational unpaired preference (kto), preference with an explicit prompt (dpo), prompt-completion (sft).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from datasets import load_dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from trl.data_utils import apply_chat_template, is_conversational, unpair_preference_dataset

TRL = {
    "kto": {"prompt", "completion", "label"},
    "dpo": {"prompt", "chosen", "rejected"},
    "sft": {"prompt", "completion"},
}
TEMPLATE = (
    "{% for said in messages %}<{{ said.role }}>{{ said.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def check(example: dict, columns: set[str], tokenizer: PreTrainedTokenizerFast) -> None:
    """Check the texts that TRL trains on. Raises AssertionError or KeyError if they differ from the messages."""
    ours = {name: example[name] for name in columns}
    assert is_conversational(ours)
    texts = apply_chat_template(ours, tokenizer)
    assert set(texts) == columns
    assert texts["prompt"].endswith(f"<user>{example['prompt'][-1]['content']}<assistant>"), texts["prompt"]
    for name in columns & {"completion", "chosen", "rejected"}:
        (answer,) = example[name]
        assert answer["role"] == "assistant" and texts[name] == answer["content"], name
    if "label" in columns:
        assert isinstance(texts["label"], bool)


def main() -> None:
    folder, counts = Path(sys.argv[1]), {}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"?": 0}, "?")), unk_token="?")
    tokenizer.chat_template = TEMPLATE
    for kind, columns in TRL.items():
        lines = load_dataset(
            "json", data_files=str(folder / f"{kind}.jsonl"), split="train", cache_dir=str(folder / "cache")
        )
        for line in lines:
            check(line, columns, tokenizer)
        if kind == "dpo":
            assert len(unpair_preference_dataset(lines.select_columns(sorted(columns)))) == 2 * len(lines)
        counts[kind] = len(lines)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
