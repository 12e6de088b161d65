"""Webhooks: signed delivery of events to the operator's endpoints, with retries (Standard Webhooks)."""
