"""Implementation of the commands that work on a running platform, its log and its databases."""
