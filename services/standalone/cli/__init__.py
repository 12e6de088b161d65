"""The command line, with one module per command.

A command imports its implementation only after it has checked its options. Help and usage errors therefore do not load
the server libraries.
"""
