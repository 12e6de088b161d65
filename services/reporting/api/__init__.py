"""HTTP API of reporting: routes, request and response models, and queries that only the API needs."""
