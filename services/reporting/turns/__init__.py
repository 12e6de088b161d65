"""Queries on conversations and turns: periods, turns with feedback, the latest feedback, artifacts."""
