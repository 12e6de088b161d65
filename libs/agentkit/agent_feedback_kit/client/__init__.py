"""The HTTP client. `calls` defines requests and responses; the two clients send them."""
