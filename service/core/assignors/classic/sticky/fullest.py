"""The order in which the first sticky assignors look at what members own: that of those with the most first."""

import numpy as np

from service.core.model import Int32s
from service.core.ragged import grouped


def from_the_fullest(owners: Int32s, ranks: Int32s) -> Int32s:
    """int32[items]: again and again the owner with the most items left gives its first one, of equals the last by rank.

    owners : int32[items], of each; ranks : int32[owners]
    """
    lists = grouped(owners, len(ranks))
    left = np.repeat(lists.offsets[1:], lists.lengths()) - np.arange(len(owners), dtype=np.int32)
    return lists.values[np.argsort(-(left * np.int64(len(ranks)) + ranks[lists.row_of_each_value()]))]
