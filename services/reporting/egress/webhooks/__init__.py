"""Standard Webhooks: what is announced goes to the receivers that the operator named, signed, until they have it."""
