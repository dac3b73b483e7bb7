"""Sets that keep all hard rules: where to start, what to pack, and why there are none."""
