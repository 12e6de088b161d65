"""Chats of others that send their events over HTTP: each is checked, and said again as our chat events."""
