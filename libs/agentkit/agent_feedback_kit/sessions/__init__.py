"""Session ratings: one question at the end, a record without any text, and backends that keep it."""
