"""Feedback in an agent's timeline: feedback given since the last load is added to the turns that it is about."""
