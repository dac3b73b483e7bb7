"""``/v1/descriptions``."""
