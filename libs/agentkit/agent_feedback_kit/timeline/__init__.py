"""Feedback in an agent's timeline: what was said since the conversation was last loaded, and where it belongs."""
