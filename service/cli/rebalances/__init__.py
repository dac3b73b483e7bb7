"""The command ``rebalances``: its events, tables and pictures."""
