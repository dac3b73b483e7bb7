"""What franz-go's sticky balancers work on: the group, and one run of theirs.

Members are their positions in order, as Go numbers them. Go numbers the topics in the order in which it happens to go through a
map; ``Run.topics`` is that order.
"""

from typing import Final, NamedTuple

from service.clients.bags import Bags
from service.core.model import Int32s

OPEN: Final = -2
"""In place of a member: which one is left to chance."""

UNSURE: Final = 0
SURE: Final = 1
"""How a step of a run ends, beside OUT_OF_TIME: may the order of topics have a part in what it did?"""


class Given(NamedTuple):
    """The group. Topics without subscribers play no part.

    first : int32[topics + 1]            the first partition of each topic
    topic_of : int32[partitions]
    subscribers_of, subscribers : topic → its subscribers, ascending
    class_of : int32[topics]             equal where the subscribers are the same: the first such topic
    kept : int32[partitions]             who has each at first, or NONE
    stale, claimant : int32[...] each    partitions that an older claimant may take back, and that member
    member_racks : int32[members]        1, 2 … in the order of the members, or 0 without a rack; empty: racks do not count
    leader_racks : int32[partitions]     likewise; racks that no member is on come after the others
    racks_count : int32[1]
    """

    first: Int32s
    topic_of: Int32s
    subscribers_of: Int32s
    subscribers: Int32s
    class_of: Int32s
    kept: Int32s
    stale: Int32s
    claimant: Int32s
    member_racks: Int32s
    leader_racks: Int32s
    racks_count: Int32s


class Run(NamedTuple):
    """One run.

    topics : int32[...]                  the topics with subscribers, in order
    interests_of, interests : member → its topics, in that order
    owners : int32[partitions]           who has each, or NONE
    original : int32[partitions]         who came in with each, or NONE
    plan : Bags member → partitions
    """

    topics: Int32s
    interests_of: Int32s
    interests: Int32s
    owners: Int32s
    original: Int32s
    plan: Bags
