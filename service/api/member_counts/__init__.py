"""``/v1/member-count-plans``."""
