"""Reads exports with Hugging Face's `datasets`, and holds them to the columns of TRL's dataset formats.

    python read_exports.py FOLDER     # prints the number of examples of each format

The folder holds FORMAT.jsonl and FORMAT.parquet. The formats are those of TRL's page "Dataset formats and types":
conversational unpaired preference (kto), preference with an explicit prompt (dpo), prompt-completion (sft).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from datasets import load_dataset

SAID = {"role", "content"}
TRL = {
    "kto": {"prompt": "messages", "completion": "messages", "label": "bool"},
    "dpo": {"prompt": "messages", "chosen": "messages", "rejected": "messages"},
    "sft": {"prompt": "messages", "completion": "messages"},
}


def check(example: dict, columns: dict[str, str]) -> None:
    for name, kind in columns.items():
        value = example[name]
        if kind == "bool":
            assert isinstance(value, bool), (name, value)
            continue
        assert value, name
        assert all(set(one) == SAID and all(isinstance(text, str) for text in one.values()) for one in value), name
    assert example["prompt"][-1]["role"] == "user"
    for name in columns.keys() & {"completion", "chosen", "rejected"}:
        assert [one["role"] for one in example[name]] == ["assistant"], name


def main() -> None:
    folder, counts = Path(sys.argv[1]), {}
    for kind, columns in TRL.items():
        lines, table = (
            load_dataset(
                name, data_files=str(folder / f"{kind}.{suffix}"), split="train", cache_dir=str(folder / "cache")
            )
            for name, suffix in (("json", "jsonl"), ("parquet", "parquet"))
        )
        assert set(lines.column_names) == set(table.column_names), kind
        for one, other in zip(lines, table, strict=True):
            check(one, columns)
            assert {name: one[name] for name in columns} == {name: other[name] for name in columns}, kind
        counts[kind] = len(lines)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
