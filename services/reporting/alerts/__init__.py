"""Alerts about feedback: rules, the alerts they raise, and the channels that announce them."""
