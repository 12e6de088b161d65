"""Platform of the services: `log` (Kafka), `web` (HTTP), `db` (PostgreSQL), settings, metrics, logging and clock."""
