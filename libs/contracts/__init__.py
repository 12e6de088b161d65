"""What the services say to each other: events, topics, keys and ids. Imports nothing else of ours."""
