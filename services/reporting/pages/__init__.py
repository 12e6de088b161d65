"""Pages: rendered on the server, with charts and assets."""
