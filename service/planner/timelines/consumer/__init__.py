"""The consumer protocol (KIP-848): the coordinator with its target assignments, and its clients."""
