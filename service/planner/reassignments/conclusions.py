"""The conclusion of a plan: what was asked, done or not, with the number that decides."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from service.core.model import NONE, Int32s
from service.core.printable import all_of, counted
from service.planner.reassignments.evenness import band, exact_band
from service.planner.reassignments.model import RACKS_UNKNOWN, Goal, broker_names, bytes_on
from service.planner.reassignments.planned import NAMED, Planned
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
    moved = (
        f"Empties {broker_names(planned.brokers.cluster.broker_ids[emptied].tolist())}"
        if len(emptied)
        else "Changes the placement"
    )
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
        ids = broker_names(planned.brokers.cluster.broker_ids[waiting].tolist())
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
        names = broker_names(brokers.cluster.broker_ids[filled].tolist()).capitalize()
        yield f"{names} {get} {count}, but {have} none in sync: check first that {run}, for no plan without was found"
    if len(spared) and (planned.copies or planned.goal.objective == "even"):
        has, it_gets, it_runs = ("has", "it gets", "it runs") if len(spared) == 1 else ("have", "they get", "they run")
        names = broker_names(brokers.cluster.broker_ids[spared].tolist()).capitalize()
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
    names = broker_names(brokers.cluster.broker_ids[new].tolist())
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
