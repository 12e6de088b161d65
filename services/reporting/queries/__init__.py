"""Reads over the read models: each takes a pool or a connection and gives plain values."""
