"""Contracts between the services: events, topics, record keys and ids.

This package imports no other package of the project.
"""
