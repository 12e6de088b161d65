"""Simulation of agents: counts false alarms of alert rules, and measures the time until a drop is reported."""
