"""Archive of everything that is stored about a person."""
