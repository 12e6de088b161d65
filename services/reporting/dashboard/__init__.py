"""Dashboard: server-rendered pages, their charts and their assets."""
