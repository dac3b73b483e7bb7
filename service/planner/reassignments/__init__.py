"""Reassignments: from the current placement of replicas to the one that is wanted, with as few copies as possible."""

from typing import Final

OBJECTIVES: Final = ("fewest-moves", "even")
RACK_RULES: Final = ("strict", "spread", "none")
UNKNOWN_RACKS: Final = "unknown"
"""Instead of a rule: "strict", and nothing is said of it if no broker has a rack."""

LEADER_RULES: Final = ("balance", "keep", "only", "demote")
BALANCES: Final = ("replicas", "bytes")
RESOURCES: Final = (*BALANCES, "leaders", "bytes_per_second", "leader_bytes_per_second", "bytes_out_per_second", "cpu")
"""What can be evened out: the first two by themselves, all of them together with others."""

BATCH_ORDERS: Final = ("largest-first", "smallest-first")

THROTTLE_UTILIZATION = 0.8
"""The share of a throttle that Kafka's copying reaches, unless somebody knows better."""

BATCH_SECONDS = 2.0
"""What a batch takes beside the copying, likewise."""
