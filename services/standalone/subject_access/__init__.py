"""Archive of all stored data about one person."""
