"""All four services in one process on embedded parts, and the command line."""
