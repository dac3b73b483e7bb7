"""Names in the order of a java.util.HashMap or HashSet, for short lists of them; large ones stay arrays (``ordering``)."""

from collections.abc import Sequence

import numpy as np

from service.core.jvm.hashing import java_hash_codes
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order
from service.core.jvm.sorting import java_order
from service.core.model import ranks_of


def in_hash_order(names: Sequence[str], *, capacity: int = DEFAULT_CAPACITY, compute: bool = False) -> list[str]:
    """Each name once, in the order of a HashMap into which they came in this order.

    capacity, compute : as of ``iteration_order``. With ``compute`` a name that comes again can let the table grow
    """
    calls, names = names, list(dict.fromkeys(names))
    if len(names) < 2:
        return names
    ranks = ranks_of(java_order(names))
    indices = {name: i for i, name in enumerate(names)}
    again = np.array([indices[name] for name in calls], np.int32) if compute and len(calls) > len(names) else None
    order = iteration_order(java_hash_codes(names), capacity=capacity, compute=compute, calls=again, ranks=ranks)
    return [names[i] for i in order.tolist()]
