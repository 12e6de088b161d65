"""Feedback in an agent's timeline, which is the agent's own record of a conversation.

When a timeline is loaded, all feedback received since the last load is added to the turns that it is about.
"""
