"""What a person's message says about an agent's answer. Pure: no Kafka, SQL or HTTP server."""
