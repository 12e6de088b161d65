"""All four services in one process, with an embedded Kafka and PostgreSQL, and the command line."""
