"""Platform of the services: Kafka in the package `log`, HTTP in `web`, PostgreSQL in `db`, and small modules.

`pyproject.toml` lists the modules that a service may import.
"""
