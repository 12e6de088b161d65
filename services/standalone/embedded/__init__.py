"""Servers that start and stop with this process: an in-memory Kafka, a Kafka on disk, and a PostgreSQL on disk.

Import only the module that you need, because each has its own optional dependency.
"""
