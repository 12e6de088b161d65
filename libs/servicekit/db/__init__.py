"""PostgreSQL: connection pools, schemas, retention, row-level security and the erasure ledger."""
