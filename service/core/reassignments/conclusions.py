"""The conclusion of a plan: what was asked, done or not, with the number that decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from service.core.model import Int32s
from service.core.printable import all_of, counted
from service.core.reassignments.evenness import band, exact_band
from service.core.reassignments.model import Goal, Plan, broker_names, bytes_on
from service.core.reassignments.order import copied
from service.core.reassignments.planned import NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.core.reassignments.planned import Planned

RACKS_UNKNOWN: Final = (
    "racks are not known (give the rack_id of brokers, by --rack 1:a, a table of racks or a snapshot; --racks unknown accepts it)"
)

_NEAR: Final = 1e-9
"""The share by which floats may differ."""


def conclusion(planned: Planned) -> tuple[str, bool]:
    """The sentences, and whether the plan does all that was asked."""
    if not len(planned.placements):
        asked = bool((planned.left | planned.brokers.demoted).any())
        return "No partition is given, so nothing is planned: what the brokers have is not known.", not asked
    failures = [*_without_leader(planned), *_not_empty(planned), *_still_lead(planned)]
    done = [*_main(planned), *_led_no_more(planned)]
    if planned.brokers.demoted.any() and not planned.copies and len(done) > 1:
        done = done[1:]  # what became of the demoted brokers says more
    done += [] if planned.copies else _offers(planned)
    sentences = [*failures, *done]
    if planned.racks_matter and not (len(planned.brokers.cluster.rack_ids) or planned.racks_accepted):
        sentences[0] += f"; {RACKS_UNKNOWN}"
    sentences += _in_progress(planned)
    return " ".join(f"{sentence}." for sentence in sentences), not failures and not len(planned.plan.outside)


def _main(planned: Planned) -> Iterator[str]:
    """What moves."""
    before, after = (load.replicas for load in planned.loads)
    on_the_way = planned.left & (before == 0)
    for broker in np.flatnonzero(on_the_way)[:NAMED].tolist():
        running = _leaving(planned, broker)
        if len(running):
            yield f"{planned.broker(broker).capitalize()} is being emptied: {_reassignments(planned, running)}"
        else:
            yield f"{planned.broker(broker).capitalize()} has no replica of {planned.topics}"
    if planned.copies:
        proof = _limited_proof(planned.goal, planned.plan) if planned.goal.limited else _proof(planned)
        waiting = int(copied(planned.placements, planned.plan.replicas)[planned.leadership.stuck].sum())
        wait = f" ({waiting:,} of them wait for a leader)" if waiting else ""
        yield f"{_moved(planned)} with {counted(planned.copies, 'copy', 'copies')}{wait}, {proof}{_leave(planned)}"
        return
    changes = list(_changes(planned))
    if (before[planned.left] > after[planned.left]).any() and len(_emptied(planned)):
        yield f"{_moved(planned)} without a copy{_leave(planned)}"
    elif changes:
        yield f"Copies nothing: {all_of(changes, len(changes))}"
    elif on_the_way.any():
        yield "Nothing is left to plan"
    elif not list(_offers(planned)):
        yield f"Nothing changes: {_nothing(planned)}"


def _nothing(planned: Planned) -> str:
    """Why nothing changes."""
    goal, count = planned.goal, counted(len(planned.placements), "partition")
    if planned.placements.excluded.all():
        return f"{'each of the ' * (len(planned.placements) > 1)}{count} is excluded"
    if goal.tolerance is not None and not len(planned.plan.outside):
        return f"every broker is within {_within(planned)}"
    if goal.objective == "even":
        return "no plan is more even" if planned.plan.evenness_gap == 0 else "nothing more even was found"
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
        now, after = lead.counts(len(planned.brokers))
        fullest = int(now.argmax())
        leads = f"after which {planned.broker(fullest)} leads {counted(int(after[fullest]), 'partition')}, {now[fullest]:,} now"
        elections = counted(len(lead.elected), "preferred leader election")
        yield f"there {'is' if len(lead.elected) == 1 else 'are'} {elections}, {leads}"


def _moved(planned: Planned) -> str:
    emptied = _emptied(planned)
    return f"Empties {broker_names(emptied)}" if emptied else "Changes the placement"


def _emptied(planned: Planned) -> list[int]:
    """The ids of the brokers that end empty."""
    before, after = (load.replicas for load in planned.loads)
    emptied = (before > 0) & (after == 0)
    stuck = planned.leadership.stuck
    for broker in np.flatnonzero(emptied).tolist() if len(stuck) else ():
        emptied[broker] = not np.isin(planned.on(broker, after=False), stuck).any()
    return [int(broker_id) for broker_id in planned.brokers.cluster.broker_ids[emptied].tolist()]


def _leave(planned: Planned) -> str:
    """How much leaves the brokers that end empty, of what."""
    emptied = np.isin(planned.brokers.cluster.broker_ids, _emptied(planned))
    if not (emptied & planned.left).any():
        return ""
    count = int(planned.loads[0].replicas[emptied].sum())
    whose = "its" if emptied.sum() == 1 else "their"
    return f": {whose} {counted(count, 'replica')} of {planned.topics} leave{'s' * (count == 1)}"


def _not_empty(planned: Planned) -> Iterator[str]:
    """The brokers that were to be emptied and are not."""
    kept = np.flatnonzero(planned.left & (planned.loads[1].replicas > 0)).tolist()
    for broker in kept[:NAMED]:
        partitions, lead = planned.on(broker, after=True), planned.leadership
        leaders = lead.after if lead.known else planned.plan.replicas.firsts()
        leads = int((leaders[partitions] == broker).sum())
        excluded = planned.placements.excluded[partitions].all()
        why = "excluded" if excluded else f"with leaders = {planned.goal.leaders}, no replica moves"
        led = f" and {'leads' if lead.known else 'is the preferred leader of'} {leads:,}" if leads else ""
        replicas = f"keeps {counted(len(partitions), 'replica')}, of {planned.topics_of(partitions)} ({why}),"
        yield f"{planned.broker(broker).capitalize()} {replicas}{led}: it is not empty afterwards".replace(",:", ":")
    if len(kept) > NAMED:
        yield f"{broker_names(planned.brokers.cluster.broker_ids[kept[NAMED:]].tolist()).capitalize()} keep replicas too"


def _without_leader(planned: Planned) -> Iterator[str]:
    """What cannot be copied."""
    stuck = planned.leadership.stuck
    if not len(stuck):
        return
    waiting = [
        broker for broker in np.flatnonzero(planned.left).tolist() if np.isin(planned.on(broker, after=False), stuck).any()
    ]
    several = len(stuck) > 1
    reason = f"{planned.names(stuck)} {'have' if several else 'has'} no leader, so {'they' if several else 'it'} cannot be copied"
    ids = broker_names(planned.brokers.cluster.broker_ids[waiting].tolist())
    then = f"; {ids} {'is' if len(waiting) == 1 else 'are'} empty only then" if waiting else ""
    yield f"{reason} until a replica is back{then}"


def _still_lead(planned: Planned) -> Iterator[str]:
    """The demoted brokers that go on leading."""
    lead, demoted = planned.leadership, planned.brokers.demoted
    after = lead.after if lead.known else planned.plan.replicas.firsts()
    now = lead.now if lead.known else planned.placements.replicas.firsts()
    for broker in np.flatnonzero(demoted)[:NAMED].tolist():
        partitions = np.flatnonzero(after == broker).astype(np.int32)
        if len(partitions):
            verb = "still leads" if lead.known else "stays the preferred leader of"
            of = f"{len(partitions):,} of {counted(int((now == broker).sum()), 'partition')}"
            names = f"{planned.names(partitions)} ({_why_led(planned, partitions)})"
            yield f"{planned.broker(broker).capitalize()} {verb} {of} afterwards: {names}"


def _why_led(planned: Planned, partitions: Int32s) -> str:
    """Why nobody else leads them."""
    placements, then = planned.placements, planned.plan.replicas
    may_lead = (planned.brokers.live & ~planned.brokers.demoted)[then.values]
    others = np.bincount(then.row_of_each_value()[may_lead], minlength=len(then))[partitions] > 0
    excluded = placements.excluded[partitions]
    reasons = ["excluded"] * bool(excluded.any())
    reasons += ["no other replica may lead"] * bool((~excluded & ~others).any())
    reasons += ["no other replica is in sync"] * bool((~excluded & others).any())
    return " or ".join(reasons)


def _led_no_more(planned: Planned) -> Iterator[str]:
    """The demoted brokers that lead nothing afterwards, and how that comes."""
    lead, now, then = planned.leadership, planned.placements.replicas.firsts(), planned.plan.replicas.firsts()
    for broker in np.flatnonzero(planned.brokers.demoted)[:NAMED].tolist():
        name = planned.broker(broker).capitalize()
        prefers, led = np.flatnonzero(now == broker), np.flatnonzero(lead.now == broker).astype(np.int32)
        if (lead.after == broker).any() if lead.known else (then == broker).any():
            continue
        if not lead.known:
            goes = f"goes from {len(prefers):,} to 0 preferred leaders" if len(prefers) else "is no partition's preferred leader"
            yield f"{name} {goes}; who leads now is not known"
        elif not len(led):
            yield f"{name} leads none of the {counted(len(planned.placements), 'partition')} given"
        else:
            elected = led[np.isin(led, lead.elected)]
            none = ", none of which prefers it" if len(led) > 1 else ", which does not prefer it"
            leads = f"{name} leads {counted(len(led), 'partition')} now{none * (not np.isin(led, prefers).any())}"
            leads = f"{leads}, and 0 afterwards"
            run = f": run a preferred leader election for {planned.names(elected)}" if len(elected) else ""
            yield f"{leads}{run}"


def _offers(planned: Planned) -> Iterator[str]:
    """What would fill brokers that stay empty."""
    brokers, goal = planned.brokers, planned.goal
    new = brokers.receiving & (planned.loads[0].replicas == 0) & (planned.loads[1].replicas == 0)
    if planned.placements.leaving is not None:
        new[planned.placements.leaving.values] = False
    new = np.flatnonzero(new)
    if not len(new) or goal.objective != "fewest-moves" or goal.only_leaders:
        return
    total = int(planned.loads[1].replicas[brokers.usable].sum())
    share = total * float(brokers.weights[new].sum() / brokers.weights[brokers.usable].sum())
    names = broker_names(brokers.cluster.broker_ids[new].tolist())
    stay, it = ("stay", "them") if len(new) > 1 else ("stays", "it")
    about = f"about {share:,.0f}" if share >= 1 else "some"
    yield (
        f"{names.capitalize()} {stay} empty, for the fewest moves fill no broker: objective = even would give {it} {about} of "
        f"the {counted(total, 'replica')}, as far as racks and limits allow"
    )


def _in_progress(planned: Planned) -> Iterator[str]:
    """The reassignments that are under way, unless a sentence about a broker has named them."""
    running, left = planned.placements.in_progress, planned.left & (planned.loads[0].replicas == 0)
    if running is None or not running.any():
        return
    if not any(len(_leaving(planned, broker)) for broker in np.flatnonzero(left)[:NAMED].tolist()):
        yield _reassignments(planned, np.flatnonzero(running).astype(np.int32))


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
    low, high = (limits[brokers.usable] for limits in band(brokers.usable, brokers.weights, loads, tolerance))
    if (low == low[0]).all() and (high == high[0]).all():
        return f"{text}, rounded outwards to whole {unit} ({low[0]:,} to {high[0]:,} each)"
    worst = int(np.flatnonzero(np.flatnonzero(brokers.usable) == beyond[0])[0])
    kept = f"{low[worst]:,} to {high[worst]:,} on {planned.broker(int(beyond[0]))}"
    return f"{text}, rounded outwards to whole {unit} (such as {kept})"


def _limited_proof(goal: Goal, plan: Plan) -> str:
    limits = [
        f"{limit:,} {unit}" for limit, unit in ((goal.max_moves, "copies"), (goal.max_bytes, "bytes copied")) if limit is not None
    ]
    evenest = f"the evenest load with at most {' and '.join(limits)}"
    return evenest if plan.evenness_gap == 0 else f"whose unevenness is at most {plan.evenness_gap:.1%} above that of {evenest}"
