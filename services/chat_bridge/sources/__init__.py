"""Platforms that send their own events over HTTP: verification of their requests, and translation into chat events."""
