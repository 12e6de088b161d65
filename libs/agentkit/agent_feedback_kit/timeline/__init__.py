"""Feedback in an agent's timeline: the changes since the conversation was last loaded, in the turns that they
concern."""
