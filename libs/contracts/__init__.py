"""Contracts between the services: events, topics, keys and ids. Imports none of our other packages."""
