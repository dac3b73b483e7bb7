"""Which partitions of a cluster are at risk."""
