"""The answer: a plan in batches, what it moves, how long it takes, and what was asked, done or not, in sentences."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget, Figures
from service.core.errors import NoPlan
from service.core.measures import GB, NOT_KNOWN, ZoneTraffic, placed_traffic, read_nearby
from service.core.model import NONE, Int32s
from service.core.printable import all_of, counted
from service.decisions.reassignments.question import CurrentCluster, ReassignmentQuestion, id_of, read
from service.decisions.rows import NAME
from service.planner.log_dirs.model import DirMoves
from service.planner.reassignments.batches.plan import plan_in_batches
from service.planner.reassignments.batches.schedule import Batches
from service.planner.reassignments.effects import effects, warnings
from service.planner.reassignments.evenness import band, exact_band
from service.planner.reassignments.leaders import Leadership
from service.planner.reassignments.model import (
    RACKS_UNKNOWN,
    Brokers,
    Goal,
    Placements,
    Plan,
    Replacements,
    bytes_on,
)
from service.planner.reassignments.plan import frontier
from service.planner.reassignments.planned import NAMED, REASONS, Planned, PlanRackTraffic, ReplicaMoves, moves_of, rack_traffic
from service.planner.reassignments.resources.loads import placed_loads
from service.planner.reassignments.sets import added, copied

_NEAR: Final = 1e-9
"""The share by which floats may differ."""


def conclusion(planned: Planned) -> tuple[str, bool]:
    """The sentences, and whether the plan does all that was asked."""
    if not len(planned.placements):
        asked = bool((planned.left | planned.brokers.demoted).any())
        return "No partition is given, so nothing is planned: what the brokers have is not known.", not asked
    leads, led = (_first([text for text, none in _demotions(planned) if none == done]) for done in (False, True))
    failures, demoted = [*_without_leader(planned), *_first(list(_not_empty(planned))), *leads], led
    moves = [] if demoted and not planned.copies else [_main(planned)]  # what became of the demoted brokers says more
    sentences = [*failures, *_empty(planned), *filter(None, moves), *_lagging(planned), *demoted, *_offers(planned)]
    running, empty = planned.placements.in_progress, np.flatnonzero(planned.left & (planned.loads[0].replicas == 0))[:NAMED]
    if running is not None and running.any() and not any(len(_leaving(planned, broker)) for broker in empty.tolist()):
        sentences.append(_reassignments(planned, np.flatnonzero(running).astype(np.int32)))  # that no sentence has named
    if planned.racks_matter and not (len(planned.brokers.cluster.rack_ids) or planned.racks_accepted):
        sentences[0] += f"; {RACKS_UNKNOWN}"
    return " ".join(f"{sentence}." for sentence in sentences), not failures and not len(planned.plan.outside)


def _first(sentences: list[str]) -> list[str]:
    """The first sentences, and how many there are besides."""
    more = len(sentences) - NAMED
    return [*sentences[:NAMED], *([f"The same is true of {counted(more, 'more broker')}"] if more > 0 else [])]


def _empty(planned: Planned) -> Iterator[str]:
    """The brokers to be emptied that are empty already, or by reassignments in progress."""
    for broker in np.flatnonzero(planned.left & (planned.loads[0].replicas == 0))[:NAMED].tolist():
        running, name = _leaving(planned, broker), planned.broker(broker).capitalize()
        empties = (
            f"is being emptied: {_reassignments(planned, running)}" if len(running) else f"has no replica of {planned.topics}"
        )
        yield f"{name} {empties}"


def _main(planned: Planned) -> str:
    """What moves; nothing where another sentence says why nothing does."""
    before, after = (load.replicas for load in planned.loads)
    rows = planned.placements.replicas
    stuck = rows.values[np.isin(rows.row_of_each_value(), planned.leadership.stuck)]
    emptied = np.setdiff1d(np.flatnonzero((before > 0) & (after == 0)), stuck).astype(np.int32)
    moved = f"Empties {planned.brokers.names(emptied)}" if len(emptied) else "Changes the placement"
    if planned.copies:
        proof = _proof(planned)
        waiting = int(copied(planned.placements, planned.plan.replicas)[planned.leadership.stuck].sum())
        wait = f" ({waiting:,} of them wait for a leader)" if waiting else ""
        return f"{moved} with {counted(planned.copies, 'copy', 'copies')}{wait}, {proof}{_leave(planned, emptied)}"
    changes = list(_changes(planned))
    if planned.left[emptied].any():
        return f"{moved} without a copy{_leave(planned, emptied)}"
    if changes:
        return f"Copies nothing: {all_of(changes, len(changes))}"
    if list(_empty(planned)):
        return "Nothing is left to plan"
    return "" if list(_offers(planned)) else f"Nothing changes: {_nothing(planned)}"


def _nothing(planned: Planned) -> str:
    """Why nothing changes."""
    goal, count = planned.goal, counted(len(planned.placements), "partition")
    if planned.placements.excluded.all():
        return f"{'each of the ' * (len(planned.placements) > 1)}{count} is excluded"
    if goal.only_leaders:
        return f"no leader of the {count} given has to"
    if goal.tolerance is not None and not len(planned.plan.outside):
        return f"every broker is within {_within(planned)}"
    if goal.objective == "even":
        within = f" with {_limits(goal)}" if goal.limited else ""
        return f"{'no plan' if planned.plan.evenness_gap == 0 else 'none that was found'} is more even{within}"
    return f"no rule asks for a copy of the {count} given"


def _changes(planned: Planned) -> Iterator[str]:
    """What changes where nothing is copied."""
    placements, then, lead = planned.placements, planned.plan.replicas, planned.leadership
    preferred = int((placements.replicas.firsts() != then.firsts()).sum())
    fewer = int((then.lengths() < placements.replicas.lengths()).sum())
    if preferred:
        yield f"{counted(preferred, 'preferred leader')} change{'s' * (preferred == 1)}"
    if fewer:
        yield f"{counted(fewer, 'partition')} get{'s' * (fewer == 1)} fewer replicas"
    if len(planned.changed) and not preferred and not fewer:
        yield f"the order of {counted(len(planned.changed), 'list')} of replicas changes"
    if lead.known and len(lead.elected):
        changes = counted(int((lead.now != lead.after).sum()), "partition")
        elections = counted(len(lead.elected), "preferred leader election")
        yield f"{elections} let{'s' * (len(lead.elected) == 1)} others lead {changes}"


def _leave(planned: Planned, emptied: Int32s) -> str:
    """How much leaves the brokers that end empty, of what."""
    if not planned.left[emptied].any():
        return ""
    count = int(planned.loads[0].replicas[emptied].sum())
    whose = "its" if len(emptied) == 1 else "their"
    return f": {whose} {counted(count, 'replica')} of {planned.topics} leave{'s' * (count == 1)}"


def _not_empty(planned: Planned) -> Iterator[str]:
    """The brokers that were to be emptied and are not."""
    lead = planned.leadership
    leaders = lead.after if lead.known else planned.plan.replicas.firsts()
    for broker in np.flatnonzero(planned.left & (planned.loads[1].replicas > 0)).tolist():
        partitions = planned.on(broker, after=True)
        leads = int((leaders[partitions] == broker).sum())
        excluded = planned.placements.excluded[partitions].all()
        why = "excluded" if excluded else f"with leaders = {planned.goal.leaders}, no replica moves"
        led = f", and {'leads' if lead.known else 'is the preferred leader of'} {leads:,}" if leads else ""
        keeps = f"keeps {counted(len(partitions), 'replica')}, of {planned.topics_of(partitions)} ({why}){led}"
        yield f"{planned.broker(broker).capitalize()} {keeps}: it is not empty afterwards"


def _without_leader(planned: Planned) -> Iterator[str]:
    """What cannot be copied, or keeps only replicas that are not in sync."""
    lead, rows = planned.leadership, planned.placements.replicas
    leaderless = lead.now[lead.stuck] == NONE
    for stuck, is_leaderless in ((lead.stuck[leaderless], True), (lead.stuck[~leaderless], False)):
        if not len(stuck):
            continue
        waiting = np.intersect1d(rows.values[np.isin(rows.row_of_each_value(), stuck)], np.flatnonzero(planned.left))
        ids = planned.brokers.names(waiting)
        then = f"; {ids} {'is' if len(waiting) == 1 else 'are'} empty only then" if len(waiting) else ""
        have, they, keep = ("has", "it", "keeps") if len(stuck) == 1 else ("have", "they", "keep")
        no_leader = f"{have} no leader, so {they} cannot be copied until a replica is back"
        not_in_sync = f"{keep} only replicas that are not in sync, so the reassignment waits until one is"
        yield f"{planned.names(stuck)} {no_leader if is_leaderless else not_in_sync}{then}"


def _lagging(planned: Planned) -> Iterator[str]:
    """The brokers of which no replica says that they run: those that get others all the same, and those that the plan spares."""
    brokers, comes = planned.brokers, added(planned.placements.replicas, planned.plan.replicas)
    gets = np.bincount(planned.plan.replicas.values[comes], minlength=len(brokers))
    lagging = planned.placements.lagging(brokers) & brokers.usable
    filled, spared = np.flatnonzero(lagging & (gets > 0)), np.flatnonzero(lagging & (gets == 0) & brokers.cordoned)
    if len(filled):
        get, have, run = ("gets", "has", "it runs") if len(filled) == 1 else ("get", "have", "they run")
        count = counted(int(gets[filled].sum()), "replica")
        names = brokers.names(filled).capitalize()
        yield f"{names} {get} {count}, but {have} none in sync: check first that {run}, for no plan without was found"
    if len(spared) and (planned.copies or planned.goal.objective == "even"):
        has, it_gets, it_runs = ("has", "it gets", "it runs") if len(spared) == 1 else ("have", "they get", "they run")
        names = brokers.names(spared).capitalize()
        yield f"{names} {has} no replica in sync, so whether {it_runs} is not known: {it_gets} no others"


def _demotions(planned: Planned) -> Iterator[tuple[str, bool]]:
    """What becomes of the demoted brokers, and whether they lead nothing afterwards."""
    lead = planned.leadership
    preferred = planned.placements.replicas.firsts(), planned.plan.replicas.firsts()
    now, after = (lead.now, lead.after) if lead.known else preferred
    for broker in np.flatnonzero(planned.brokers.demoted).tolist():
        led, leads = (np.flatnonzero(leaders == broker).astype(np.int32) for leaders in (now, after))
        name, elected = planned.broker(broker).capitalize(), led[np.isin(led, lead.elected)]
        if len(leads):
            verb = "still leads" if lead.known else "stays the preferred leader of"
            names = f"{planned.names(leads)} ({_why_led(planned, leads)})"
            yield f"{name} {verb} {counted(len(leads), 'partition')} afterwards, {len(led):,} now: {names}", False
        elif not lead.known:
            goes = f"goes from {len(led):,} to 0 preferred leaders" if len(led) else "is no partition's preferred leader"
            yield f"{name} {goes}; who leads now is not known", True
        elif not len(led):
            yield f"{name} leads none of the {counted(len(planned.placements), 'partition')} given", True
        else:
            none = ", which does not prefer it" if len(led) == 1 else ", none of which prefers it"
            none *= not (preferred[0][led] == broker).any()
            run = f": run a preferred leader election for {planned.names(elected)}" if len(elected) else ""
            yield f"{name} leads {counted(len(led), 'partition')} now{none}, and 0 afterwards{run}", True


def _why_led(planned: Planned, partitions: Int32s) -> str:
    """Why nobody else leads them."""
    lead, reasons = planned.leadership, np.full(len(partitions), "no other replica may lead", object)
    reasons[np.isin(partitions, lead.refused)] = "the preferred leader is not in sync"
    reasons[np.isin(partitions, lead.stuck)] = "the reassignment waits"
    reasons[planned.placements.excluded[partitions]] = "excluded"
    return " or ".join(dict.fromkeys(reasons))


def _offers(planned: Planned) -> Iterator[str]:
    """What would fill brokers that stay empty."""
    brokers, goal = planned.brokers, planned.goal
    new = brokers.receiving & (planned.loads[0].replicas == 0) & (planned.loads[1].replicas == 0)
    if planned.placements.leaving is not None:
        new[planned.placements.leaving.values] = False
    new = np.flatnonzero(new)
    excluded = planned.placements.excluded
    if not len(new) or excluded.all() or planned.copies or goal.objective != "fewest-moves" or goal.only_leaders:
        return
    total = int(planned.loads[1].replicas[brokers.usable].sum())
    share = total * float(brokers.weights[new].sum() / brokers.weights[brokers.usable].sum())
    names = brokers.names(new)
    stay, it = ("stay", "them") if len(new) > 1 else ("stays", "it")
    gives = "evens out the load"
    if share >= len(new) and not excluded.any():  # else the others may keep all that they have
        gives = f"would give {it} about {share:,.0f} of the {counted(total, 'replica')}"
    yield (
        f"{names.capitalize()} {stay} empty, for the fewest moves fill no broker: objective = even {gives}, as far as the rules "
        "allow"
    )


def _reassignments(planned: Planned, partitions: Int32s) -> str:
    be = "is" if len(partitions) == 1 else "are"
    running = f"{counted(len(partitions), 'reassignment')} {be} in progress ({planned.names(partitions)})"
    return f"{running}, which this plan takes as done"


def _leaving(planned: Planned, broker: int) -> Int32s:
    """int32[...], the partitions that a reassignment in progress takes from this broker."""
    leaving = planned.placements.leaving
    return np.empty(0, np.int32) if leaving is None else leaving.row_of_each_value()[leaving.values == broker]


def _proof(planned: Planned) -> str:
    goal, plan = planned.goal, planned.plan
    if goal.limited:
        beyond = "" if plan.evenness_gap == 0 else f"whose unevenness is at most {plan.evenness_gap:.1%} above that of "
        return f"{beyond}the evenest load with {_limits(goal)}"
    fewest = f"the fewest {'bytes ' if goal.balance == 'bytes' else ''}possible"
    if goal.tolerance is not None:
        near = "as near as the rules allow to" if len(plan.outside) else "within"
        if plan.gap == 0 or not len(plan.outside):
            fewest += f" to bring every broker {near} {_within(planned)}"
    elif goal.objective == "even":
        fewest += " for the evenest load" if plan.evenness_gap == 0 else " for as even a load"
    if plan.gap is None:
        return f"not proven to be {fewest}"
    return fewest if plan.gap == 0 else f"at most {plan.gap:.1%} above {fewest}"


def _within(planned: Planned) -> str:
    """The tolerance, and the whole numbers that it became if these are further from the mean."""
    goal, brokers, placements = planned.goal, planned.brokers, planned.placements
    tolerance, unit = goal.tolerance or 0.0, "bytes" if goal.balance == "bytes" else "replicas"
    text = f"{100 * tolerance:.4g}% of the mean"
    if goal.resources or len(planned.plan.outside):
        return text
    amounts = placements.bytes_of_each() if unit == "bytes" else np.ones(len(placements), np.int64)
    loads = bytes_on(planned.plan.replicas, amounts, len(brokers))
    least, most = exact_band(brokers.usable, brokers.weights, loads, tolerance)
    beyond = np.flatnonzero(brokers.usable & ((loads < least - _NEAR * (1 + least)) | (loads > most + _NEAR * (1 + most))))
    if not len(beyond):
        return text
    low, high = band(brokers.usable, brokers.weights, loads, tolerance)
    at = int(beyond[0])
    alike = (low == low[at])[brokers.usable].all() and (high == high[at])[brokers.usable].all()
    kept = f"{low[at]:,} to {high[at]:,} {'each' if alike else f'on {planned.broker(at)}'}"
    return f"{text}, rounded outwards to whole {unit} ({kept})"


def _limits(goal: Goal) -> str:
    limits = ((goal.max_moves, "copy", "copies"), (goal.max_bytes, "byte copied", "bytes copied"))
    return f"at most {' and '.join(counted(limit, *units) for limit, *units in limits if limit is not None)}"


def ids_of(brokers: Brokers, indices: Int32s) -> pa.Array:
    """The broker ids of indices; null for NONE."""
    return pa.array(brokers.cluster.broker_ids[indices], pa.int32(), mask=indices == NONE)


def reasons_of(moves: ReplicaMoves | DirMoves, texts: Sequence[str], names_of: Callable[[Int32s], pa.Array]) -> pa.Array:
    """The reason of each move. texts : of all reasons; names_of : of what ``{source}`` or ``{target}`` in them stands for"""
    reasons = pa.nulls(len(moves.reasons), NAME)
    for reason, text in enumerate(texts):
        which = moves.reasons == reason
        if which.any():
            before, _, rest = text.partition("{")
            role, _, after = rest.partition("}")
            words = pa.scalar(text, NAME)
            if role:
                names = names_of(moves.sources if role == "source" else moves.targets).cast(NAME)
                words = pc.binary_join_element_wise(before, names, after, "")
            reasons = pc.if_else(pa.array(which), words, reasons)
    return reasons


def replica_reasons(brokers: Brokers, moves: ReplicaMoves) -> pa.Array:
    """The reason of each move of a reassignment."""
    return reasons_of(moves, REASONS, lambda indices: ids_of(brokers, indices))


def moves_table(brokers: Brokers, placements: Placements, moves: ReplicaMoves) -> pa.Table:
    """The columns topic_name, partition_id, from, to, reason and batch (from 1), a row for each move; a leader's change is one
    too.
    """
    names = pa.array(placements.topic_names, NAME)
    return pa.table(
        {
            "topic_name": pa.DictionaryArray.from_arrays(pa.array(placements.topics[moves.partitions]), names),
            "partition_id": pa.array(placements.partition_ids[moves.partitions]),
            "from": ids_of(brokers, moves.sources),
            "to": ids_of(brokers, moves.targets),
            "reason": replica_reasons(brokers, moves),
            "batch": pa.array(moves.batches + 1),
        }
    )


MOST_POINTS: Final = 200
"""Points that an answer has at most: of more, some at equal distances."""


def frontier_of(cluster: CurrentCluster, goal: Goal) -> pa.Table:
    """The frontier of a cluster, from the fewest copies that the rules need to those of the evenest load. Raises NoPlan.

    copies : replicas; bytes : null where sizes are unknown
    spread : the most load of a broker less the least, each ÷ weight; load : replicas or bytes
    stddev : the standard deviation of load ÷ weight; proven : whether no plan within this number of copies is more even
    """
    curve, proven = frontier(cluster.brokers, cluster.placements, goal)
    last = len(curve) - 1
    shown = np.unique(np.linspace(0, last, min(last + 1, MOST_POINTS)).round().astype(np.int64))
    sized = cluster.placements.sizes is not None
    return pa.table(
        {
            "copies": curve.copies[shown],
            "bytes": curve.amounts[shown] if sized else pa.nulls(len(shown), pa.int64()),
            "spread": curve.most[shown] - curve.least[shown],
            "stddev": curve.deviations[shown],
            "proven": proven[shown],
        }
    )


@dataclass(frozen=True, kw_only=True)
class ReassignmentAnswer(Planned):
    """A plan.

    traffic : between zones, before and after; None without racks
    across_racks : what the plan takes across racks; None without
    frontier : see ``frontier_of``; replacements : of brokers that are gone; None if the question does not ask for it
    """

    question: ReassignmentQuestion
    plan_id: str
    across_racks: PlanRackTraffic | None
    traffic: tuple[ZoneTraffic | None, ...]
    frontier: pa.Table | None = None
    replacements: Replacements | None = None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        items = {"partitions": len(self.placements), "brokers": len(self.brokers)}
        return Figures(self.question.goal.objective, items, self.loads[1].spread().skew, tag=self.plan_id)

    @cached_property
    def conclusion(self) -> tuple[str, bool]:
        """What was asked, done or not, in sentences; and whether all of it is done."""
        return conclusion(self)

    @property
    def effects(self) -> list[str]:
        """Sentences: what the plan does besides, how long it takes, and what crosses racks."""
        before, after = ((each or NOT_KNOWN).figures(self.question.price_per_gb) for each in self.traffic)
        return [*effects(self), *self._copies_across_racks(), *(read_nearby(after, before) if before != after else ())]

    @property
    def copying_cost(self) -> float | None:
        """What copying across racks costs; None without racks, sizes or a price."""
        crossing, price = self.across_racks, self.question.price_per_gb
        return None if crossing is None or price is None or self.placements.sizes is None else crossing.amount / GB * price

    def _copies_across_racks(self) -> Iterator[str]:
        crossing = self.across_racks
        if crossing is None or not crossing.changes + crossing.copies:
            return
        comes = "comes" if crossing.changes == 1 else "come"
        changes = (
            f"{counted(crossing.changes, 'replica')} {comes} to another rack"
            if crossing.changes
            else "No replica changes its rack"
        )
        sized = "" if self.placements.sizes is None else f", {crossing.amount:,} bytes"
        cost = "" if self.copying_cost is None else f", which cost {self.copying_cost:,.2f}"
        are = "is" if crossing.copies == 1 else "are"
        yield f"{changes}; {crossing.copies:,} {are} copied from a leader on another rack{sized}{cost}."

    @property
    def warnings(self) -> list[str]:
        """Sentences: what to know before the plan is executed."""
        doubts = () if self.replacements is None else self.replacements.doubts(self.brokers)
        return [*doubts, *warnings(self)]


def _planned(cluster: CurrentCluster, question: ReassignmentQuestion) -> tuple[CurrentCluster, tuple[Plan, Batches]]:
    """The plan, in which a broker that is in sync with none of its replicas gets no others where that is possible."""
    brokers, placements, goal = cluster.brokers, cluster.placements, question.goal
    doubtful = placements.lagging(brokers) & brokers.receiving
    if doubtful.any() and not goal.only_leaders:
        cautious = replace(cluster, brokers=replace(brokers, cordoned=brokers.cordoned | doubtful))
        with suppress(NoPlan):
            return cautious, plan_in_batches(cautious.brokers, placements, goal, question.limits)
    return cluster, plan_in_batches(brokers, placements, goal, question.limits)


def answer(question: ReassignmentQuestion, budget: Budget) -> ReassignmentAnswer:
    """Plan the reassignment. Raises InvalidQuestion (all faults at once), NoPlan, and what the budget raises."""
    cluster = read(question, budget)
    placements, goal = cluster.placements, question.goal
    cluster, (plan, batches) = _planned(cluster, question)
    brokers = cluster.brokers
    budget.check_time()
    moves = moves_of(brokers, placements, goal, plan.replicas, batches)
    budget.check_time()
    leadership = Leadership.of(brokers, placements, goal, plan.replicas)
    timing = batches.traffic.timing(len(batches), question.pace, question.throttle_bytes_per_second, question.duration_seconds)
    if timing.seconds is not None:  # Kafka waits for a copy that never begins
        stops = np.isin(np.arange(len(batches)), batches.batch_of[leadership.stuck])
        timing = replace(timing, seconds=np.where(stops, np.inf, timing.seconds))
    return ReassignmentAnswer(
        brokers=brokers,
        placements=placements,
        goal=goal,
        plan=plan,
        batches=batches,
        moves=moves,
        loads=placed_loads(brokers, placements, plan.replicas),
        leadership=leadership,
        timing=timing,
        pace=question.pace,
        racks_accepted=question.racks_accepted,
        question=question,
        plan_id=id_of(question, cluster),
        across_racks=rack_traffic(brokers, placements, plan.replicas, batches.steps),
        traffic=tuple(placed_traffic(brokers.cluster, rows, placements.rates) for rows in (placements.replicas, plan.replicas)),
        frontier=frontier_of(cluster, goal) if question.frontier else None,
        replacements=cluster.replacements,
    )
