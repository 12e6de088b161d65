"""Training data export: feedback with its answer and the messages before that answer."""
