"""The classic protocol: the coordinator with its barriers, and its clients."""
