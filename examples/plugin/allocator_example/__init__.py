"""Three strategies for partition-allocator, one of each kind."""
