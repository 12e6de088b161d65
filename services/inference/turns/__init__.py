"""Index of turns: questions, answers and their feedback."""
