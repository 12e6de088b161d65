"""Simulated agents: how often alert rules raise a false alarm, and how soon they report a drop."""
