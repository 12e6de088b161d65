"""Session ratings: the question at the end of a session, the record (without text), and its storage backends."""
