"""Dashboard: server-rendered pages with charts and assets."""
