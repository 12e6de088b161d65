"""Platforms that send their own events over HTTP: verification of requests, and conversion to chat events."""
