"""Context for an agent before it plans its next answer."""
