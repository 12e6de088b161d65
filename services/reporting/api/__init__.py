"""HTTP API of the reporting service: routes, models, and queries that only the API needs."""
