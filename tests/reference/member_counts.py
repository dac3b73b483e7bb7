"""Numbers of members, in plain Python: what goes to the subscriber with the fewest, and KEDA's total lag."""

from __future__ import annotations


def shares(rows: list[list[int]], weights: list[float]) -> tuple[list[float], list[int]]:
    """The weight and the number of the partitions of each member; what several have is divided among them."""
    rows = [[partition for partition in row if partition < len(weights)] for row in rows]
    everything = [partition for row in rows for partition in row]
    return [sum(weights[each] / everything.count(each) for each in row) for row in rows], [len(row) for row in rows]


def total_lag(lags: list[int], threshold: int, *, idle: bool, limited: bool, even: bool) -> int:
    """KEDA's getTotalLag, as it is written there."""
    total, partitions = sum(lags), len(lags)
    if not idle or limited or even:
        most = partitions
        if even:
            factor = partitions
            for each in range(1, partitions + 1):
                if partitions % each == 0 and each * threshold >= total:
                    factor = each
                    break
            total = factor * threshold
        if limited:
            most = sum(lag > 0 for lag in lags)
        if total // threshold > most:
            total = most * threshold
    return total
