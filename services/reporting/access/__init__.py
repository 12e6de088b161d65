"""Accounts of operators: roles, passwords, sessions and sign-in."""
