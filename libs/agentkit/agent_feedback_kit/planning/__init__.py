"""What an agent should know before it plans its next answer."""
