"""Queries on the read models. Each takes a pool or a connection, and returns plain values."""
