"""The feedback service.

It converts received feedback into rewards, stores one record per key, and announces each change.
"""
