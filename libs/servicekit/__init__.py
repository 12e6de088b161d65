"""Plumbing without one business noun: broker, batch delivery, dead letters, metrics, health, logging, settings."""
