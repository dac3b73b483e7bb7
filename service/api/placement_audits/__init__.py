"""``/v1/placement-audits``."""
