"""Optional language model for messages that no rule decides."""
