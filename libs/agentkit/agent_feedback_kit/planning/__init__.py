"""Context for an agent that plans its next answer: feedback, and strategies that were successful."""
