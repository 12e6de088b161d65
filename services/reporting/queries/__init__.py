"""Queries on the read models. Each query takes a pool or a connection, and returns plain values."""
