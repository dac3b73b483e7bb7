"""From sets of brokers to better ones: exchanges, paths of them, and what they improve."""
