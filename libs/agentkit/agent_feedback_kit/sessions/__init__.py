"""Session ratings: the question at the end of a session, the stored record (without text), and storage backends."""
