"""Asynchronous replication of artifacts from the database to an object store."""
