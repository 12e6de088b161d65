"""Asynchronous replication of artifacts from the tables to an object store. No read waits for it."""
