"""Sources: chat platforms whose webhook requests are verified and converted to chat events."""
