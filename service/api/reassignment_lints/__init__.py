"""``/v1/reassignments:lint``."""
