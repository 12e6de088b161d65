"""The HTTP client: `calls` says what is sent and read, the two clients carry it."""
