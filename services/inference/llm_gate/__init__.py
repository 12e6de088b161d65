"""Optional language model check of messages that no rule decides."""
