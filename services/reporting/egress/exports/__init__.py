"""Export of training data: feedback together with the answer and the messages before it."""
