"""Feedback in an agent's timeline: changes since the conversation was last loaded, in their turns."""
