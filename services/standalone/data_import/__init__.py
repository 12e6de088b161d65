"""Import of judgements from other tools' files: reading rows, mapping them to events, and tracking progress."""
