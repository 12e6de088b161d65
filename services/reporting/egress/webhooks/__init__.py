"""Webhooks: signed events for the operator's endpoints, delivered with retries (Standard Webhooks)."""
