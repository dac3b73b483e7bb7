"""Reassignments: from the current placement of replicas to the one that is wanted, with as few copies as possible."""

from typing import Final

OBJECTIVES: Final = ("fewest-moves", "even")
RACK_RULES: Final = ("strict", "spread", "none")
LEADER_RULES: Final = ("balance", "keep", "only")
BALANCES: Final = ("replicas", "bytes")
