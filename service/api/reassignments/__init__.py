"""``POST /v1/reassignments``."""
