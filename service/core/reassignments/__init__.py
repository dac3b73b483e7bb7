"""Reassignments: from the current placement of replicas to the one that is wanted, with as few copies as possible."""

from typing import Final

OBJECTIVES: Final = ("fewest-moves", "even")
RACK_RULES: Final = ("strict", "spread", "none")
LEADER_RULES: Final = ("balance", "keep", "only")
BALANCES: Final = ("replicas", "bytes")

BATCH_ORDERS: Final = ("largest-first", "smallest-first")

THROTTLE_UTILIZATION = 0.8
"""The share of a throttle that Kafka's copying reaches, unless somebody knows better."""

BATCH_SECONDS = 2.0
"""What a batch takes beside the copying, likewise."""
