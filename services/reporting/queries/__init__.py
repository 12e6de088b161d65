"""Queries of the read models; each takes a pool or a connection and returns plain values."""
