"""Causes by what has changed from one stored group to the next, where no log tells them."""

from collections.abc import Iterator

from service.histories.causes import Why
from service.histories.course import Cause, PastRebalance
from service.histories.events import Partition, StoredMember, ToldEvent


def add_causes(rebalances: list[PastRebalance]) -> None:
    """Give causes to the classic rebalances that have none, or one that their own records make more exact."""
    before: PastRebalance | None = None
    ever: set[Partition] = set()
    for after in rebalances:
        event = next((event for event in after.events if "members" in event.says), None)
        if after.number == 1 or (before is not None and before.life != after.life):
            before, ever = PastRebalance(after.life, after.number - 1, after.protocol, records={}), set()
        if after.records is not None and event is not None and before is not None and before.records is not None:
            if before.number + 1 == after.number:
                _add(before.records, after, event, ever)
            ever |= _assigned(after.records)
        before = after


def _add(before: dict[str, StoredMember], rebalance: PastRebalance, event: ToldEvent, ever: set[Partition]) -> None:
    after = rebalance.records or {}
    own = {each.instance_id or each.member_id for each in before.values()}
    now = {each.instance_id or each.member_id for each in after.values()}
    new = [each.member_id for each in after.values() if (each.instance_id or each.member_id) not in own]
    gone = [each.member_id for each in before.values() if (each.instance_id or each.member_id) not in now]
    others = [] if new or gone else list(_others(before, after, event, ever))
    if not rebalance.causes:
        members = [(Why.GONE, each) for each in gone] + [(Why.JOIN, each) for each in new]
        found = [Cause(kind, (member,), event) for kind, member in members] + others
        rebalance.causes = found or [Cause(Why.UNKNOWN, (), event)]
    elif others and rebalance.causes[0].kind in (Why.UNKNOWN, Why.LEADER_METADATA):
        rebalance.causes[0].kind = others[0].kind


def _others(
    before: dict[str, StoredMember], after: dict[str, StoredMember], event: ToldEvent, ever: set[Partition]
) -> Iterator[Cause]:
    """Without new members: changed subscriptions, partitions that a cooperative assignor had withheld, or that are new.

    ever : the partitions that were assigned to anybody before
    """
    changed = [name for name in before.keys() & after.keys() if set(before[name].topics or ()) != set(after[name].topics or ())]
    yield from (Cause(Why.SUBSCRIPTION, (name,), event) for name in sorted(changed))
    had, has = (_assigned(members) for members in (before, after))
    withheld = ever | {partition for each in (*before.values(), *after.values()) for partition in each.claimed or ()}
    if not changed and (has - had) & withheld:
        yield Cause(Why.REVOCATION, (), event)
    elif not changed and {topic for topic, _ in has - had} & {topic for topic, _ in had}:
        yield Cause(Why.PARTITIONS, (), event)


def _assigned(members: dict[str, StoredMember]) -> set[Partition]:
    return {partition for each in members.values() for partition in each.assigned or ()}
