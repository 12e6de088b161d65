"""The command line: one module for each command.

A command imports its work when it runs, after it has checked its options: help and usage errors load no server library.
"""
