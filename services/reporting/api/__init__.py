"""The HTTP API: its routes, request bodies and the queries that only it needs."""
