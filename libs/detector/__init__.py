"""Detect implicit feedback: how a person's message reacts to an agent's answer. No Kafka, SQL or HTTP server."""
