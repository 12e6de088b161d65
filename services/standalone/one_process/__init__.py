"""All services in one process: start, replay of files, serving and the summary."""
