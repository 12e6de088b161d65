"""Kafka consumers that handle records in batches, and producers."""
