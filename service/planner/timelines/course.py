"""The course of one group through its timeline: what its coordinator, its clients and its events have in common."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from service.core.assignors import Assignor
from service.core.measures.skew import spread, weighted_load
from service.core.measures.zone_traffic import zone_traffic
from service.core.member_ids import IdDraw
from service.core.model import Assignment, Float64s, Group, Int32s, Int64s, Ragged
from service.core.ragged import transposed
from service.planner.rebalances.fewest_moves import fewest_possible_moves
from service.planner.rebalances.rebalance import movement
from service.planner.timelines.clock import STEP_CELLS, Clock
from service.planner.timelines.groups import Groups
from service.planner.timelines.ledger import Ledger
from service.planner.timelines.members import Member, Members, Paces, Present
from service.planner.timelines.model import NEVER, CoordinatorRequest, Timeline, TimelineRebalance
from service.planner.timelines.topics import Topology, View

PASSED: Final = 16
"""Partitions or members that a pass looks at for a cell."""


class Course:
    """The course of one group.

    protocol : of the group now
    present : the members that the coordinator has, by number, in the order in which it got them
    latest : the last incarnation of each member, by the name of the first and by its own id
    cause : the index of the event from which all that happens now follows; None for the forming of the group
    parties : the clients of each protocol that the group has had, and the events
    version_causes : the event behind each version of the topology
    forms : does the group form at 0 ms, and are there events? Then what comes of no event is apart, as are ``start_requests``
    alike : see ``TimelineOutcome``
    """

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.timing, self.protocol = timeline, timeline.timing, timeline.group_protocol
        self.detailed = timeline.detail == "assignments"
        draw = IdDraw(timeline.random_seed, timeline.draw, timeline.client_id)
        self.clock, self.members, self.present = Clock(), Members(draw), Present()
        self.topology = Topology(timeline.world)
        self.ledger = Ledger.of(int(timeline.world.first[-1]), timeline.world.weights, logs=self.detailed)
        self.paces = Paces(self.timing, self.members, self.ledger)
        self.groups = Groups(timeline, self.clock, self.members, self.topology)
        self.rebalances: list[TimelineRebalance] = []
        self.cause: int | None = None
        self.version_causes: list[int | None] = [None]
        self.forms = bool(timeline.events) and not len(timeline.group.owned.values)
        self.requests_total = self.start_requests = 0
        self.alike: tuple[int, ...] | None = None
        self.latest: dict[str, Member] = {}
        self._counted_topics: set[tuple[int, ...]] = set()
        self.parties: list[object] = []

    def close(self) -> None:
        """Let go of everything. Its parties and their coordinators know one another, and would keep their arrays until the cyclic
        collector comes, which counts objects and no bytes.
        """
        for party in [*self.parties, self]:
            vars(party).clear()

    def later(self, at_ms: int, call: Callable[..., Any], *values: Any) -> None:
        """Have something called that follows from the present event, unless the group is converted to another protocol before."""
        self.clock.at(at_ms, self._call, self.cause, self.protocol, call, values)

    def _call(self, cause: int | None, protocol: str, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
        if protocol == self.protocol:
            self.cause = cause
            call(*values)

    def start(self, member: Member, topics: tuple[int, ...]) -> Member:
        """Start a client. topics : its subscription"""
        self.clock.spend(STEP_CELLS)
        self.members.start(self.clock.now, member, topics)
        self.latest[member.name] = self.latest[member.member_id] = member
        if topics not in self._counted_topics:
            self.count_partitions()
        return member

    def restart(self, member: Member, member_id: str | None = None, **changes: Any) -> Member:
        """Start the next incarnation of a member. changes : of its assignors or its protocol"""
        again = self.members.successor(member, member_id, **changes)
        return self.start(again, self.members.topics_of(member.number))

    def running(self) -> list[Member]:
        """The clients that run, in the order in which their names first came."""
        return [self.members.all[number] for number in self._last_incarnations() if self.members.columns.died[number] == NEVER]

    def _last_incarnations(self) -> dict[int, None]:
        """The numbers of the members' last incarnations, in that order."""
        return dict.fromkeys(member.number for name, member in self.latest.items() if name == member.name)

    def count_partitions(self) -> None:
        """Tell the ledger which partitions need a reader: those that exist, of topics to which the last incarnations subscribe.

        What only a member read that has ended, for a while or for good, still needs a reader.
        """
        self.clock.spend(STEP_CELLS + len(self.latest) + len(self.ledger.reader) // PASSED)
        self._counted_topics = {self.members.topics_of(number) for number in self._last_incarnations()}
        names = np.zeros(len(self.timeline.world.names), np.bool_)
        for topics in self._counted_topics:
            names[list(topics)] = True
        existing = self.topology.existing()
        self.ledger.exist(existing, self.clock.now)
        counted = names[self.topology.topic_of] & existing
        if not np.array_equal(counted, self.ledger.counted):
            self.ledger.count(counted, self.clock.now)

    def begin(self, reason: str, *states: str) -> TimelineRebalance:
        """A rebalance begins, for a reason in the broker's words. states : that the group enters"""
        entered = [(self.clock.now, state) for state in states]
        is_start = self.forms and self.cause is None
        rebalance = TimelineRebalance(self.clock.now, self.cause, reason, self.protocol, entered, is_start)
        self.rebalances.append(rebalance)
        return rebalance

    def describe(self, rebalance: TimelineRebalance, before: Group, assignment: Assignment, assignor: Assignor) -> None:
        """Write into a rebalance what the assignment is, and what it moves. before : the group with what its members had"""
        rows = assignment.rows
        owners = transposed(rows, before.total_partitions)
        rebalance.assignor = assignor.name
        rebalance.is_eager = rebalance.protocol == "classic" and not assignor.is_cooperative
        rebalance.members_count = len(before)
        rebalance.load = spread(rows.lengths())
        rebalance.movement = movement(before, owners)
        rebalance.withheld = 0 if assignment.withheld is None else len(assignment.withheld.values)
        if self.timeline.detail != "totals":
            rebalance.fewest_possible_moves = fewest_possible_moves(before, assignment.final_loads())
            rebalance.zone_traffic = zone_traffic(before, owners)
        if self.detailed:
            rebalance.assignment, rebalance.group, rebalance.counts = rows, before, rows.lengths()

    def explain(self, rebalance: TimelineRebalance, claims: Group, assignment: Assignment, assignor: Assignor) -> None:
        """Write into a rebalance how the assignment came about, if asked. claims : the group as the assignor saw it"""
        if self.detailed and self.timeline.most_explained and assignor.explain:
            rebalance.explanation = assignor.explain(claims, assignment, self.timeline.most_explained)

    def backlog(self, rebalance: TimelineRebalance, missed: Float64s, rows: Ragged, view: View) -> None:
        """Add what came in for idle partitions, and the time that their new readers take to work it off.

        missed : float64[members], what came in for the partitions that each gets; rows : what each is assigned
        """
        if view.topics.weights is None:
            return
        rebalance.backlog += float(missed.sum())
        rate = self.timing.consumption_rate
        if rate is not None:
            spare = rate - weighted_load(rows, view.topics.weights)
            behind = missed > 0
            with np.errstate(over="ignore"):  # next to nothing to spare takes for ever
                times = np.where(spare[behind] > 0, missed[behind] / np.maximum(spare[behind], 1e-300) * 1000, np.inf)
            rebalance.catch_up_ms = max(rebalance.catch_up_ms or 0.0, float(times.max(initial=0.0)))

    def request(self, api: str, member: Member, error: str = "") -> None:
        """Note a request of now, in the rebalance that is under way, or the last."""
        self._count_requests(1)
        if self.rebalances:
            current = self.rebalances[-1]
            current.requests_count[api] = current.requests_count.get(api, 0) + 1
            if self.detailed:
                current.requests.append(CoordinatorRequest(int(self.clock.now), api, member.member_id, error))

    def _count_requests(self, count: int) -> None:
        self.requests_total += count
        if self.forms and self.cause is None:
            self.start_requests += count

    def requests(self, api: str, numbers: Int32s, times: Int64s) -> None:
        """Note the same request of many members; those at NEVER are not sent."""
        sent = times < NEVER
        count = int(np.count_nonzero(sent))
        self._count_requests(count)
        current = self.rebalances[-1]
        current.requests_count[api] = current.requests_count.get(api, 0) + count
        if self.detailed:
            rows = zip(numbers.tolist(), times.tolist(), sent.tolist(), strict=True)
            current.requests += [
                CoordinatorRequest(at, api, self.members.all[number].member_id) for number, at, is_sent in rows if is_sent
            ]
