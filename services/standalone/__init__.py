"""Command line, and all four services in one process with an embedded Kafka and PostgreSQL."""
