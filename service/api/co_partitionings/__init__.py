"""``/v1/co-partitionings``."""
