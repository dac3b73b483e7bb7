"""``/v1/coordinators``."""
