"""``/v1/partitioner-comparisons``."""
