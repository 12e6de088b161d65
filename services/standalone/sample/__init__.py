"""Conversations written for this project, to show the flow without anybody's data."""

from pathlib import Path

SAMPLE = Path(__file__).parent / "conversations.jsonl"
