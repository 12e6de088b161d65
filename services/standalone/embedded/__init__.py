"""Servers that start and stop with this process: a Kafka in memory, a Kafka on disk, a PostgreSQL on disk.

Import the module you need: each has an optional dependency of its own.
"""
