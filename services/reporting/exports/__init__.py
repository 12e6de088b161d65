"""Data that a model can be trained on: feedback joined with the answer it is about and what led to it."""
