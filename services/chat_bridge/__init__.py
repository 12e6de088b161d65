"""Conversion of chat events to feedback events. Finds the agent message that a reply or reaction is about."""
