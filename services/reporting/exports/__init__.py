"""Training data: feedback with the answer and the messages before it, as files."""
