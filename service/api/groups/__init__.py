"""``/v1/group-assignments``."""
