"""Convert chat events to feedback events.

The service finds the agent message that a reply or reaction is about.
"""
