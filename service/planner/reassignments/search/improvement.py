"""The improvements of ``paths`` in order, in calls of a few milliseconds."""

from collections.abc import Callable
from typing import Final

import numpy as np

from service.core.model import Int64s
from service.planner.reassignments.search.exchanges import ReplicaSets, list_exchanges
from service.planner.reassignments.search.paths import even_out, relieve, save_copies
from service.planner.reassignments.search.turns import DONE, in_turns

MOST: Final = 40_000_000_000
"""What one improvement looks at, in about a minute. Then the sets stay as they are, unproven."""

ANY_COST: Final = 2**30


def improve(s: ReplicaSets, *, even_first: bool, check: Callable[[], None]) -> bool:
    """Even out the loads: at any cost and then with the fewest copies, or without a copy. Returns whether the result is
    optimal.
    """
    ideal = _ideal(s)
    exhausted = np.zeros(len(s.loads), np.bool_)
    most_cost = ANY_COST if even_first else 0
    if in_turns(s, lambda: even_out(s, most_cost, ideal, exhausted), check, MOST) != DONE:
        return False
    if not even_first:
        return True
    exhausted[:] = False
    return in_turns(s, lambda: save_copies(s, exhausted), check, MOST) == DONE


def relieve_all(s: ReplicaSets, check: Callable[[], None]) -> int:
    """Bring every broker to its ``most``. DONE; STUCK if the rules forbid it; MORE if it took too long to tell.

    Considers exchanges of cost 1 only if it has to.
    """
    result = DONE if (s.loads <= s.most).all() else in_turns(s, lambda: relieve(s), check, MOST)
    if result == DONE or s.paid[0]:
        return result
    s.paid[0] = True
    list_exchanges(s, check)
    return in_turns(s, lambda: relieve(s), check, MOST)


def _ideal(s: ReplicaSets) -> Int64s:
    """int64[brokers], the whole replicas of each if all were divided by weight."""
    weights = np.where(s.usable, s.weights, 0).astype(np.float64)
    share: Int64s = np.floor(s.loads[s.usable].sum() * weights / max(1.0, weights.sum())).astype(np.int64)
    return share
