"""PostgreSQL: connection pools, migrations, retention, row-level security and the erasure ledger."""
