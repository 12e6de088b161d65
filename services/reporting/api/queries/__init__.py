"""Queries that only the HTTP API needs."""
