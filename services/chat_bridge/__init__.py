"""Translation of chat events into feedback events: finds the agent message that a reply or reaction is about."""
