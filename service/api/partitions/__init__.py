"""``/v1/partitions``."""
