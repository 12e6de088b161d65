"""Convert received feedback to rewards.

The service stores one record per key, and announces every change of a record.
"""
