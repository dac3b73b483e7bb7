"""``/v1/placement-checks``."""
