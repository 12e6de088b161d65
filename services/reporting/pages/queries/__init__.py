"""Queries that only the pages need."""
