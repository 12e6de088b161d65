"""A chat in the terminal with an agent that hears what one thinks of its answers."""
