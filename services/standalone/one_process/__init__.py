"""All services in one process: start-up, replay of files, serving and summary."""
