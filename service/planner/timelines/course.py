"""The course of one group through its timeline: what its coordinator, its clients and its events have in common."""

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from service.core.assignors import Assignor
from service.core.errors import InvalidQuestion
from service.core.measures import spread, weighted_load, zone_traffic
from service.core.model import NO_ROWS, NONE, Assignment, Float64s, Group, Int32s, Int64s, Ragged, distinct
from service.core.ragged import grouped, transposed
from service.planner.member_ids import IdDraw
from service.planner.rebalances import fewest_possible_moves, movement
from service.planner.timelines.ledger import Ledger
from service.planner.timelines.members import Member, Members, Paces, Present
from service.planner.timelines.model import NEVER, CoordinatorRequest, Tick, Timeline, TimelineRebalance
from service.planner.timelines.topics import Topology, View

PASSED: Final = 16
"""Partitions or members that a pass looks at for a cell."""


class Course:
    """The course of one group.

    protocol : of the group now
    present : the members that the coordinator has, by number, in the order in which it got them
    latest : the last incarnation of each member, by the name of the first and by its own id
    cause : the index of the event from which all that happens now follows; None for the forming of the group
    parties : the clients of each protocol that the group has had, and the simulation
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
        self.ledger = Ledger(int(timeline.world.first[-1]), timeline.world.weights, logs=self.detailed)
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

    def fault(self, detail: str, *field: str) -> InvalidQuestion:
        """A fault of the present event."""
        return InvalidQuestion(detail, "events", self.cause or 0, *field)

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
            rebalance.assignment, rebalance.group = rows, before

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


EVENTS, TIMERS = 0, 1
"""At the same time, the events of the timeline come before what follows from others."""


STEP_CELLS: Final = 400
"""The cells (see ``Clock``) of a step for one member: some 20 µs."""

TICK_CELLS: Final = 4_000
"""The cells (see ``Clock``) between two looks at what the simulation has cost, some 0.2 ms."""


class Clock:
    """An agenda of calls.

    spent : what the simulation has cost, in cells. A cell is what a rebalance does with one partition, some 50 ns
    """

    def __init__(self) -> None:
        self.now = 0
        self.spent = self._next_tick = 0
        self._tick: Tick | None = None
        self._calls: list[tuple[int, int, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._entered = 0

    def at(self, at_ms: int, call: Callable[..., Any], *values: Any, rank: int = TIMERS) -> None:
        """Have ``call(*values)`` called then; never if the time is NEVER."""
        if at_ms < NEVER:
            self._entered += 1
            heapq.heappush(self._calls, (max(at_ms, self.now), rank, self._entered, call, values))

    def run(self, tick: Tick, until_ms: int = NEVER) -> None:
        """Call everything that comes before ``until_ms``, in order."""
        self._tick = tick
        while self._calls and self._calls[0][0] < until_ms:
            self.spend(STEP_CELLS)
            self.now, _, _, call, values = heapq.heappop(self._calls)
            call(*values)
        tick(self.spent)
        self._tick = None

    def spend(self, cells: int) -> None:
        """Note work that is about to be done."""
        self.spent += cells
        if self._tick is not None and self.spent >= self._next_tick:
            self._next_tick = self.spent + TICK_CELLS
            self._tick(self.spent)


REBALANCE_CELLS: Final = 10_000
"""The cells (see ``Clock``) that a rebalance spends on the smallest group."""

MEMBER_CELLS: Final = 16
"""The cells (see ``Clock``) that a rebalance spends on a member: as many as on this many partitions."""


class Groups:
    """Groups of a timeline's members."""

    def __init__(self, timeline: Timeline, clock: Clock, members: Members, topology: Topology) -> None:
        self.clock, self.members, self.topology = clock, members, topology
        self._rack_ids, self._first, self._cost = timeline.group.rack_ids, timeline.world.first, timeline.cost()
        self._same: tuple[View | None, int, Ragged] = (None, NONE, NO_ROWS)
        self._last: tuple[Int32s, Group] | None = None

    def claiming(self, numbers: Int32s, view: View, owner: Int32s, mentioned: Int32s | None = None) -> Group:
        """The group of these members.

        owner : int32[world's partitions], the number of the member that claims each, or NONE
        mentioned : likewise; its partitions are in the group even if they do not exist and are not claimed
        """
        slots = np.full(len(self.members.all) + 1, NONE, np.int32)
        slots[numbers] = np.arange(len(numbers), dtype=np.int32)
        labels = slots[owner]
        if view.is_whole:
            return self.owning(numbers, view, grouped(labels, len(numbers)))
        named = labels != NONE if mentioned is None else (labels != NONE) | (mentioned != NONE)
        unknown = np.flatnonzero(named & (view.from_world == NONE))
        topics = self.topology.topic_of[unknown]
        pairs = np.stack([view.topic_index[topics], unknown - self._first[topics]], axis=1).astype(np.int32)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        owned = grouped(np.concatenate([labels[view.to_world], labels[unknown[order]]]), len(numbers))
        return self.owning(numbers, view, owned, pairs[order])

    def in_world(self, group: Group, view: View) -> Int32s:
        """int32[partitions of the group], existing or not: the world's index of each."""
        if not len(group.unknown_partitions):
            return view.to_world
        topics, ids = group.unknown_partitions.T
        return np.concatenate([view.to_world, self._first[np.argsort(view.topic_index)[topics]] + ids])

    def owning(self, numbers: Int32s, view: View, owned: Ragged, unknown_partitions: Int32s | None = None) -> Group:
        """The group of these members with what they own.

        owned : Ragged member → partitions of the view; unknown_partitions : as ``core.model.Group`` has them; None for none

        For the same array of numbers as last time, what never changes of the members is taken from there.
        """
        self.clock.spend(
            self._cost * (REBALANCE_CELLS + MEMBER_CELLS * len(numbers) + view.topics.partitions_count + len(view.missing))
        )
        columns = self.members.columns
        said: dict[str, Any] = {
            "topics": view.topics,
            "subscriptions": self._subscriptions(columns.joined[numbers], view),
            "generations": columns.generation[numbers].astype(np.int32),
            "owned": owned,
            "unknown_topic_names": view.missing,
            "unknown_partitions": np.empty((0, 2), np.int32) if unknown_partitions is None else unknown_partitions,
        }
        if self._last is not None and self._last[0] is numbers:
            group = replace(self._last[1], **said)
            vars(group)["by_id"] = self._last[1].by_id  # need not be sorted again
        else:
            order = numbers.tolist()
            group = Group(
                member_ids=tuple(map(self.members.ids.__getitem__, order)),
                instance_ids=tuple(map(self.members.instance_ids.__getitem__, order)),
                rack_ids=self._rack_ids,
                racks=self._racks(order),
                hash_codes=columns.hash_code[numbers].astype(np.int32),
                **said,
            )
        self._last = numbers, group
        return group

    def _racks(self, order: list[int]) -> Int32s:
        """int32[...], the rack of each of these members, or NONE."""
        if not self._rack_ids:
            return np.full(len(order), NONE, np.int32)
        index = {rack: i for i, rack in enumerate(self._rack_ids)}
        return np.array([index.get(self.members.all[number].rack_id or "", NONE) for number in order], np.int32)

    def _subscriptions(self, codes: Int64s, view: View) -> Ragged:
        """Ragged member → topics of a ``Group``. codes : int64[...], the subscription of each"""
        kinds: list[int] = distinct(codes).tolist()
        if len(kinds) != 1:
            rows = {code: self._topics(code, view) for code in kinds}
            return Ragged.of_rows([rows[code] for code in codes.tolist()])
        (code,) = kinds
        if self._same[0] is not view or self._same[1] != code or len(self._same[2]) < len(codes):
            row = self._topics(code, view)
            self._same = (view, code, Ragged.of_lengths(np.full(len(codes), len(row)), np.tile(row, len(codes))))
        return self._same[2].first_rows(len(codes))

    def _topics(self, code: int, view: View) -> Int32s:
        """int32[...], the topics of a ``Group`` that a subscription names."""
        return view.topic_index[list(self.members.subscriptions[code])]
