"""Feedback in an agent's timeline: changes since the conversation was last loaded are added to their turns."""
