"""Data that leaves the service: webhooks, copies in an object store, exports."""
