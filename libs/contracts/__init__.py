"""Contracts between the services: events, topics, record keys and ids. Imports no other package of this project."""
