"""Throughput of the pipeline, compared in one run with the throughput of its parts and of a baseline pipeline."""
