"""Archive of all stored data about a person."""
