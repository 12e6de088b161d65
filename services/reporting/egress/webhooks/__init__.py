"""Standard Webhooks: signed delivery of announced events to the operator's endpoints, with retries."""
