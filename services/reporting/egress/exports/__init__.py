"""Export of training data: feedback with its answer and the messages before the answer."""
