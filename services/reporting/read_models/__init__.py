"""Tables of the reports: the events that change them, their storage, roll-ups, rebuild and erasure."""
