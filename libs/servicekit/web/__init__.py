"""HTTP server, authentication, permissions and error responses."""
