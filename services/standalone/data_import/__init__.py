"""Import of judgements from other tools' files: rows, their mapping to events, and the import position."""
