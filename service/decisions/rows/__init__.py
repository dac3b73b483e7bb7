"""What rows of any family have in common: lists and texts as Arrow columns, and the names and numbers in them."""
