"""Which lists of assignors kafka-python accepts as ``partition_assignment_strategy``.

All of a list must have a rebalance protocol in common, and each of its own assignors has one. So a group of its clients cannot go
over from ``range`` to ``cooperative-sticky`` by two rolling restarts, as one of Java's clients can (KIP-429): no consumer is
created with the list that has both, through which it would go. All its members must stop first.

Source: ConsumerCoordinator._validate_rebalance_protocol, CooperativeStickyAssignor.supported_protocols (kafka-python 3.0.12).
"""

from typing import Final

from service.core.assignors.model import Assignor
from service.core.errors import InvalidQuestion

SETTING: Final = "partition_assignment_strategy"


def check_list(assignors: tuple[Assignor, ...]) -> None:
    """Raise InvalidQuestion, in kafka-python's words, if no consumer is created with these assignors."""
    if len({assignor.is_cooperative for assignor in assignors}) > 1:
        raise InvalidQuestion(
            f"Specified {SETTING} assignors {[each.protocol_name for each in assignors]} do not support a common "
            "RebalanceProtocol. Mixing EAGER and COOPERATIVE assignors in a single consumer is not supported.",
            SETTING,
        )
