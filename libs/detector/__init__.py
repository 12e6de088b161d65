"""Detection of implicit feedback in a person's message on an agent's answer: no Kafka, SQL or HTTP server."""
