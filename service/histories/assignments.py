"""What each rebalance moved, as far as assignments are known."""

from collections.abc import Iterator
from typing import NamedTuple

from service.histories.course import PastRebalance
from service.histories.events import Partition
from service.histories.names import MemberNames


class PastMoves(NamedTuple):
    """Partitions of a rebalance.

    moved : have another reader than the last that is known; of : how many are assigned
    since : the number of the rebalance with which it is compared, the last before it whose assignment is known
    """

    moved: int
    of: int
    since: int


def moves(rebalances: list[PastRebalance], names: MemberNames) -> Iterator[PastMoves | None]:
    """Those of each rebalance; None where its assignment, or every earlier one, is not known.

    A member that has started again is the same reader; a partition that nobody reads in between has moved when it is read again.
    """
    readers: dict[Partition, str] = {}
    since: PastRebalance | None = None
    for rebalance in rebalances:
        if since is not None and since.life != rebalance.life:
            readers, since = {}, None
        if rebalance.assigned is None:
            yield None
            continue
        if since is not None and since.by_id != rebalance.by_id:
            readers, since = {}, None  # an id is not compared with a name
        own = {partition: names(member) for member, partitions in rebalance.assigned.items() for partition in partitions}
        moved = sum(readers.get(partition, name) != name for partition, name in own.items())
        yield None if since is None else PastMoves(moved, len(own), since.number)
        readers |= own
        since = rebalance
