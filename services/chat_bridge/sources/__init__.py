"""Platforms that send their own events over HTTP: their requests are verified and translated into chat events."""
