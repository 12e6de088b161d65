"""Sources: platforms that post their own events. Their requests are verified and converted to chat events."""
