"""``/v1/partitioner-fingerprints``."""
