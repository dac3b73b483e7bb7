"""What several rebalances are together: a restart of all members, a deployment, a member that comes and goes, an autoscaler."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from service.core.printable import counted, first_few, printable
from service.histories.causes import GOES, Why
from service.histories.events import MemberNames, PastRebalance

PAUSE_MS: Final = 600_000
"""Between two steps of one deployment at most."""

NAMED: Final = 5
_LEFT: Final = (Why.LEAVE, Why.GONE)


class Pattern(NamedTuple):
    """kind : of the five; members : by name; numbers : the rebalances that are its evidence; sentence : what it is"""

    kind: str
    members: tuple[str, ...]
    numbers: tuple[int, ...]
    sentence: str


class Act(NamedTuple):
    """A member that joins or goes."""

    joins: bool
    name: str
    why: Why
    rebalance: PastRebalance


def patterns(rebalances: list[PastRebalance], names: MemberNames) -> list[Pattern]:
    """Those of a group. A group that starts up is none."""
    acts = [
        Act(cause.kind == Why.JOIN, names(member), cause.kind, each)
        for each in rebalances
        if each.before is None or each.before.members or not each.before.complete
        for cause in each.causes
        if cause.kind in (Why.JOIN, *GOES)
        for member in cause.members
    ]
    sizes = [each.after.count for each in rebalances if each.after is not None and each.after.count]
    half = max(2, max(sizes, default=2) / 2)
    deployments = (each for run in _runs(acts) for each in _deployment(run, half))
    return [*_coming_and_going(acts), *deployments, *_flapping(acts), *_slow_polls(acts)]


def _runs(acts: list[Act]) -> Iterator[list[Act]]:
    """The acts without long pauses."""
    run = list[Act]()
    for act in acts:
        before, now = run[-1].rebalance.at_ms if run else None, act.rebalance.at_ms
        if before is not None and now is not None and now - before > PAUSE_MS:
            yield run
            run = []
        run.append(act)
    yield run


def _deployment(run: list[Act], half: float) -> Iterator[Pattern]:
    """Members that go once and come back, or for which others come, one after the other. Others that come first are a surge."""
    goes = Counter(act.name for act in run if not act.joins and act.why in (Why.LEAVE, Why.SESSION, Why.GONE))
    last = {act.name: act for act in run}
    first_gone = next((i for i, act in enumerate(run) if not act.joins), len(run))
    back = [name for name, times in goes.items() if times == 1 and last[name].joins]
    left = [name for name, times in goes.items() if times == 1 and not last[name].joins]
    after = [act for act in run[first_gone:] if act.joins and act.name not in goes]
    newly = run[first_gone - 1] if first_gone and run[first_gone - 1].name not in goes else None
    told = [("rolling_restart", back, "Rolling restart: {} left and came back, one after the other")]
    if len(after) >= len(left) - 1 and newly:
        told.append(("surge", left, "Deployment with surge: new members joined before each of {} left"))
    elif len(after) >= len(left) - 1:
        told.append(("rolling_restart", left, "Rolling restart: {} left, and others joined for them, one after the other"))
    for kind, names, sentence in told:
        if len(names) >= half:
            theirs = {*names, *(act.name for act in after), *([newly.name] if newly else [])}
            evidence = [act for act in run[max(0, first_gone - 1) :] if act.name in theirs]
            yield _pattern(kind, names, evidence, sentence)


def _pattern(kind: str, names: list[str], evidence: list[Act], sentence: str) -> Pattern:
    numbers = tuple(dict.fromkeys(act.rebalance.number for act in evidence))
    said = sentence.format(first_few([printable(name) for name in names], NAMED))
    return Pattern(kind, tuple(names), numbers, f"{said} ({numbers[0]} to {numbers[-1]}).")


def _flapping(acts: list[Act]) -> Iterator[Pattern]:
    """Members that have just joined leave again, three times or more."""
    phases = [list(each) for _, each in groupby(acts, key=lambda each: each.joins)]
    cycles = [
        (up, down)
        for up, down in pairwise(phases)
        if up[0].joins and {act.name for act in down} <= {act.name for act in up} and all(act.why in _LEFT for act in down)
    ]
    names = list(dict.fromkeys(act.name for _, down in cycles for act in down))
    if len(cycles) > 2:
        evidence = [act for cycle in cycles for phase in cycle for act in phase if act.name in names]
        yield _pattern("flapping", names, evidence, f"The group grew and shrank {len(cycles)} times, by {{}}")


def _coming_and_going(acts: list[Act]) -> Iterator[Pattern]:
    """Members that went and joined again twice or more."""
    by_name: dict[str, list[Act]] = {}
    for act in acts:
        by_name.setdefault(act.name, []).append(act)
    for name, own in by_name.items():
        times = sum(not before.joins and after.joins for before, after in pairwise(own))
        if times > 1:
            why = Counter(act.why for act in own if not act.joins).most_common(1)[0][0]
            yield _pattern(
                "comes_and_goes", [name], own, f"{{}} went and came back {times} times, mostly by {why.replace('_', ' ')}"
            )


def _slow_polls(acts: list[Act]) -> Iterator[Pattern]:
    late = [act for act in acts if act.why == Why.POLL]
    if len(late) > 1:
        sentence = f"{counted(len(late), 'removal')} because polls came too late, of {{}}"
        yield _pattern("slow_polls", list(dict.fromkeys(act.name for act in late)), late, sentence)
