"""Embedded servers that start and stop with this process: an in-process Kafka in memory, and PostgreSQL on disk.

Import only the module that you need, because each has its own optional dependency.
"""
