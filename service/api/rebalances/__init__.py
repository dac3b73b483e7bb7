"""``/v1/group-rebalances``."""
