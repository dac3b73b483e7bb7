"""What jobs read and write."""
