"""The feedback service: turns received feedback into rewards. Stores one record per key and announces each change."""
