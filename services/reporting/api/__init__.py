"""HTTP API of reporting: routes, request bodies, and queries that only the API needs."""
