"""What happens to a group → its rebalances."""
