"""Outgoing messages: signed webhooks, delivered with retries (Standard Webhooks)."""
