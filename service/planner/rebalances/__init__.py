"""What a rebalance moves, and the least it could."""
