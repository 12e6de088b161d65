"""Detection of implicit feedback in a person's message on an agent's answer. Pure: no Kafka, SQL or HTTP server."""
