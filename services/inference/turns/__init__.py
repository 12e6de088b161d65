"""Turn index: questions, answers and their feedback."""
