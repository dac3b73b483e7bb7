"""A timeline and its rebalances, as dataclasses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from service.core.assignors import Assignor
from service.core.measures import Spread, ZoneTraffic
from service.core.model import Bools, Float64s, Group, Int32s, Ragged
from service.planner.rebalances import Movement

SLOW_IF_MIXED: Final = ("sticky", "cooperative-sticky")
"""The assignors that search where members subscribe to different topics."""

SLOWEST: Final = 8
"""What they take then, and share groups always, measured: up to 580 ns for each partition, others 40 to 80."""

POLLS: Final = 2
"""What classic groups take whose members get their assignments in polls of their own."""

NEVER: Final = 1 << 62
"""A time that does not come."""

JOIN_TIMEOUT_MS: Final = 300_000
"""GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS: how long a dead new member may hold up a rebalance."""


@dataclass(frozen=True)
class Timing:
    """What broker and clients wait for, in ms, and the rate at which a member works.

    rebalance_timeout_ms : also ``max.poll.interval.ms``, as in the Java consumer
    assignment_interval_ms : ``group.consumer.assignment.interval.ms``
    poll_interval_ms : from one poll to the next; a member notices a rebalance when it polls. 0: at once
    consumption_rate : the weight that a member works off per second; None if the time to catch up is not needed
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000
    initial_rebalance_delay_ms: int = 3_000
    metadata_max_age_ms: int = 300_000
    assignment_interval_ms: int = 1_000
    poll_interval_ms: int = 0
    consumption_rate: float | None = None


@dataclass(frozen=True)
class NewMember:
    """A member that an event brings.

    member_id : empty if it is drawn; topics : its subscription, as ``World.names`` indices
    name : by which events know it; None for its first id
    """

    member_id: str
    instance_id: str | None
    rack_id: str | None
    topics: tuple[int, ...]
    name: str | None = None


@dataclass(frozen=True)
class Event:
    """One event; only the fields of its type (see docs/groups.md) have a meaning.

    topic : an index into ``World.names``; ``topics`` likewise
    assignors, group_protocol : of the members from then on
    new_member_ids : of restarted members, in the order in which they restart; the ids of the others are drawn
    """

    at_ms: int
    type: str
    member_id: str = ""
    member: NewMember | None = None
    for_ms: int = 0
    down_ms: int = 0
    pause_ms: int = 0
    new_member_id: str | None = None
    new_member_ids: tuple[str, ...] = ()
    topics: tuple[int, ...] = ()
    topic: int = -1
    partitions_count: int = 0
    members_count: int = 0
    assignors: tuple[Assignor, ...] = ()
    group_protocol: str = ""


@dataclass(frozen=True)
class World:
    """Every topic that exists at any time, and every name that is subscribed to, in Java's order.

    names, ids : of each topic; first : int32[topics + 1], for the most partitions that it ever has
    counts : int32[topics], the partitions at 0 ms; 0 for a topic that does not exist then
    listed : int32[...], the topics in the order of the leader's metadata: those of the request, then those that are created
    racks, leader_racks, weights, unknown : of each partition, or None, as in ``core.model.Topics``
    """

    names: tuple[str, ...]
    ids: tuple[str | None, ...]
    first: Int32s
    counts: Int32s
    listed: Int32s
    racks: Ragged | None
    leader_racks: Int32s | None
    weights: Float64s | None
    unknown: Bools | None = None


@dataclass(frozen=True)
class Timeline:
    """The question.

    group : the members at 0 ms, in the order in which the broker has them, with what they own then
    subscriptions : of each of these members, as ``World.names`` indices
    detail : how much each rebalance keeps: "totals", "rebalances" or "assignments"
    most_explained : entries of a list in an explanation; 0: no explanations
    random_seed, draw, client_id : of the ids that members draw, see ``IdDraw``
    """

    group_protocol: str
    assignor: Assignor
    kafka_version: str
    world: World
    group: Group
    subscriptions: tuple[tuple[int, ...], ...]
    timing: Timing
    events: tuple[Event, ...]
    detail: str = "assignments"
    most_explained: int = 0
    random_seed: int = 0
    draw: int = 0
    client_id: str = "consumer-group-1"

    def cost(self) -> int:
        """How many times as much as usual a rebalance takes for each member and partition."""
        later = (event.member.topics if event.member else event.topics for event in self.events if event.member or event.topics)
        differ = self.assignor.protocol_name in SLOW_IF_MIXED and len({*self.subscriptions, *later}) > 1
        polls = POLLS if self.group_protocol == "classic" and self.timing.poll_interval_ms else 1
        return SLOWEST if differ or self.group_protocol == "share" else polls


@dataclass(frozen=True)
class CoordinatorRequest:
    """A request to the coordinator. error : of its response, by Kafka's name; empty for none"""

    at_ms: int
    api: str
    member_id: str
    error: str = ""


class Idle(NamedTuple):
    """Idle times: the sum over partitions and the longest, and the least and the most that both can be, in ms.

    They differ where it hangs on when clients heartbeat and poll.
    """

    sum_ms: int = 0
    longest_ms: int = 0
    least_sum_ms: int = 0
    least_longest_ms: int = 0
    most_sum_ms: int = 0
    most_longest_ms: int = 0

    def with_more(self, more: "Idle") -> "Idle":
        """These and others."""
        return Idle(
            self.sum_ms + more.sum_ms,
            max(self.longest_ms, more.longest_ms),
            self.least_sum_ms + more.least_sum_ms,
            max(self.least_longest_ms, more.least_longest_ms),
            self.most_sum_ms + more.most_sum_ms,
            max(self.most_longest_ms, more.most_longest_ms),
        )


@dataclass
class TimelineRebalance:
    """One new generation of a classic group, or one new target assignment of another.

    at_ms : when it began; stable_at_ms : when every member had what it was assigned; None if the next one came first
    event : the index of the event that caused it; None for the forming of the group
    is_start : does the group form, though its events are what is asked about?
    is_eager : do members stop reading until they have their assignment?
    reason : in the broker's words
    epoch : the generation, or the group epoch
    states : (time, state) in order
    members_count : of the members that the assignor saw
    group, assignment : what it was asked, with what each member had before, and what it answered; None unless asked for
    idle : of the partitions that it gave to somebody, since somebody last read them
    zone_traffic : of the assignment; None without racks
    backlog : what came in for them meanwhile, if weights are rates
    catch_up_ms : until the members have worked it off, infinite if one never does; None without a consumption rate
    """

    at_ms: int
    event: int | None
    reason: str
    protocol: str
    states: list[tuple[int, str]]
    is_start: bool = False
    epoch: int = 0
    stable_at_ms: int | None = None
    assignor: str = ""
    is_eager: bool = False
    requests: list[CoordinatorRequest] = field(default_factory=list)
    requests_count: dict[str, int] = field(default_factory=dict)
    members_count: int = 0
    group: Group | None = None
    assignment: Ragged | None = None
    load: Spread | None = None
    movement: Movement | None = None
    fewest_possible_moves: int | None = None
    withheld: int = 0
    zone_traffic: ZoneTraffic | None = None
    idle: Idle = field(default_factory=Idle)
    backlog: float = 0.0
    catch_up_ms: float | None = None
    explanation: dict[str, Any] | None = None


@dataclass(frozen=True)
class Totals:
    """What the events of a timeline cost, or the forming of the group.

    idle : of the partitions that got a reader again, or need none any longer
    moved : partitions that went from one member to another, also over the two rebalances of the cooperative protocol
    worst_skew : of all rebalances
    undelivered : records (or bytes …) that came in for idle partitions; None if the topics have no weights
    longest_catch_up_ms : until a backlog is worked off; NEVER if it grows; None without a consumption rate
    """

    rebalances: int
    idle: Idle
    moved: int
    revoked: int
    worst_skew: float
    requests: int
    end_ms: int
    undelivered: float | None
    longest_catch_up_ms: float | None


@dataclass(frozen=True)
class Reading:
    """One incarnation of a member. reads : (time, partitions that it reads from then on); ended_ms : None while it runs"""

    member_id: str
    first_member_id: str
    started_ms: int
    ended_ms: int | None
    reads: list[tuple[int, int]]


@dataclass(frozen=True)
class Unread:
    """Partitions of a topic that have no reader at the end, and will have none.

    topic : as ``World.names`` index; of : all partitions of the topic; since_ms : from when on no member reads any of these
    reason : "no_member", "no_subscriber", or "not_assigned" to a subscriber
    """

    topic: int
    partitions_count: int
    of: int
    since_ms: int
    reason: str


@dataclass(frozen=True)
class End:
    """How the group is when nothing is to come.

    members_count : clients that run; empty_since_ms : since when there are none, or None
    leader_id : of a classic group with members
    """

    state: str
    members_count: int
    empty_since_ms: int | None
    leader_id: str | None
    partitions_count: int
    unread: tuple[Unread, ...]

    @property
    def unread_count(self) -> int:
        """How many partitions have no reader."""
        return sum(each.partitions_count for each in self.unread)


@dataclass(frozen=True)
class TimelineOutcome:
    """The answer.

    totals : of what is asked: of the events, or if there are none of the forming of the group
    start : of the forming of a group to which events happen; None for one that is stable at 0 ms
    had_members : has there been any client?
    alike : did new members take the last one's subscription though another member had another? Of the last such event: topics
    derived_ids : (new member id, of which member) of those that were drawn
    readings : None unless assignments are asked for
    cells : what the simulation has cost (see ``Clock``)
    """

    rebalances: list[TimelineRebalance]
    totals: Totals
    start: Totals | None
    end: End
    alike: tuple[int, ...] | None
    had_members: bool
    derived_ids: list[tuple[str, str]]
    readings: list[Reading] | None
    cells: int = 0


Tick = Callable[[int], None]
"""Called before each step with the cells spent (see ``Clock``); raises to end the simulation."""
