"""Session ratings: the question at the end of a session, the rating's record, and backends that store it.

Records contain no text.
"""
