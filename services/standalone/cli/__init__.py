"""Command line, with one module per command.

A command imports its implementation only after checking its options, so that help and usage errors do not load the
server libraries.
"""
