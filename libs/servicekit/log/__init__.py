"""Reading, handling and writing records."""
