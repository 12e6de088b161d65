"""Read models (the tables of the reports): projection, storage, roll-ups, rebuild and erasure."""
