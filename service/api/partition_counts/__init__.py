"""``/v1/partition-count-plans``."""
