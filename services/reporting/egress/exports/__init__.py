"""Export of training data: feedback with the answer that it is about and the messages before it."""
