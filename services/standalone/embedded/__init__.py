"""Embedded servers that start and stop with this process: in-memory Kafka, Kafka on disk, and PostgreSQL on disk.

Import only the module that you need, because each has its own optional dependency.
"""
