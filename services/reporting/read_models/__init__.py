"""Read models (the tables behind the reports): projection, storage, roll-ups, rebuild and erasure."""
