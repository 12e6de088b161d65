"""The HTTP server, who calls it, and how it refuses."""
