"""Import of judgements from files of other tools: rows, their mapping to events, and the position reached."""
