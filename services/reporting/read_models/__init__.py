"""Read models (the tables for reports): projection, storage, roll-ups, rebuild and erasure."""
