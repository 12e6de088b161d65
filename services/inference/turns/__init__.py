"""The index of turns: what is known of each answer and how it was received."""
