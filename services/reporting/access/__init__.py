"""API keys, sign-in to the pages, and the access log."""
