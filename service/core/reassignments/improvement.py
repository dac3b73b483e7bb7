"""The improvements of ``paths`` in order, in calls of a few milliseconds."""

from collections.abc import Callable
from typing import Final

import numpy as np

from service.core.model import Int64s
from service.core.reassignments.exchanges import State, list_exchanges
from service.core.reassignments.paths import DONE, MORE, even_out, relieve, save_copies

CELLS: Final = 40_000_000_000
"""Most entries of the matrix of exchanges that the searches of one improvement read, in about a minute. Then the sets stay as
they are, unproven."""
CELLS_PER_CALL: Final = 20_000_000
"""Between two checks of the time."""

ANY_COST: Final = 2**30


def improve(s: State, *, even_first: bool, check: Callable[[], None]) -> bool:
    """Even out the loads: at any cost and then with the fewest copies, or without a copy. Returns whether the result is
    optimal.
    """
    ideal = _ideal(s)
    exhausted = np.zeros(len(s.loads), np.bool_)
    most_cost = ANY_COST if even_first else 0
    if not _repeat(s, lambda searches: even_out(s, most_cost, ideal, exhausted, searches), check):
        return False
    if not even_first:
        return True
    exhausted[:] = False
    return _repeat(s, lambda searches: save_copies(s, exhausted, searches), check)


def relieve_all(s: State, check: Callable[[], None]) -> bool:
    """Bring every broker to its ``most``; False if the rules forbid it. Considers exchanges of cost 1 only if it has to."""
    if (s.loads <= s.most).all():
        return True
    if _repeat(s, lambda searches: relieve(s, searches), check) and (s.loads <= s.most).all():
        return True
    if not s.paid[0]:
        s.paid[0] = True
        list_exchanges(s)
        _repeat(s, lambda searches: relieve(s, searches), check)
    return bool((s.loads <= s.most).all())


def _repeat(s: State, kernel: Callable[[int], int], check: Callable[[], None]) -> bool:
    """Call the kernel until it has nothing more to do; False if that is not the case within CELLS."""
    searches = max(1, CELLS_PER_CALL // len(s.loads) ** 2)
    for _ in range(max(1, CELLS // (searches * len(s.loads) ** 2))):
        result = kernel(searches)
        if result != MORE:
            return result == DONE
        check()
    return False


def _ideal(s: State) -> Int64s:
    """int64[brokers], the whole replicas of each if all were divided by weight."""
    weights = np.where(s.usable, s.weights, 0).astype(np.float64)
    share: Int64s = np.floor(s.loads[s.usable].sum() * weights / max(1.0, weights.sum())).astype(np.int64)
    return share
