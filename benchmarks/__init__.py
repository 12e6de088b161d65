"""Throughput of the pipeline, compared in one run with that of its parts and of a plain pipeline."""
