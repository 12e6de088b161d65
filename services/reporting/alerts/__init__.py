"""Alerts: rules about feedback, the alerts that they raise, and the channels that announce them."""
