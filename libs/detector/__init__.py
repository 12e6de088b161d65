"""Detection of implicit feedback in the message that follows an agent's answer.

The package does not depend on Kafka, SQL or HTTP.
"""
