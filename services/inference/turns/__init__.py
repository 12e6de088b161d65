"""Turn index: questions, answers and the feedback on them."""
