"""Servers that live and die with this process: a Kafka in memory, a Kafka on disk, a PostgreSQL on disk.

Import the module you need: each stands on an optional dependency of its own.
"""
