"""A plan in batches, each of which is one file for ``kafka-reassign-partitions``."""
