"""Dashboard: server-rendered pages, charts and assets."""
