"""Platforms that send their own events over HTTP: each request is verified and becomes our chat events."""
