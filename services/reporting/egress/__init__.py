"""Data that leaves the service: webhooks, replicas in an object store, exports and metrics."""
