"""``/v1/replica-placements``."""
