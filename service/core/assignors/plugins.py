"""What an assignor from a plug-in must obey: checked for each of its answers, for none of a built-in's.

*Rules*: ``rows`` and ``withheld`` have a row for each member and hold partitions that exist; a member gets only partitions of
topics to which it subscribes, but in share groups may keep those of topics without subscribers, as with Kafka's own assignor; a
partition goes to one member, in share groups to any number of them, but to each once; and every partition of a topic that has a
subscriber goes to a member.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from service.core.assignors.model import Assignor
from service.core.model import Assignment, Bools, Group, Int32s, Ragged
from service.core.registry import BrokenRule, Plugin


def guard(assignor: Assignor, plugin: Plugin, *, sharing: bool = False) -> Assignor:
    """The assignor, its functions guarded; raises ValueError for forms, which are for the releases of Kafka itself.

    sharing : may several members have one partition?
    """
    if assignor.forms:
        raise ValueError("forms are for the releases of Kafka itself")
    return replace(
        assignor,
        run=plugin.guarded(assignor.run, partial(checked, sharing=sharing)),
        explain=assignor.explain and plugin.guarded(assignor.explain),
        warnings=assignor.warnings and plugin.guarded(assignor.warnings),
    )


guard_sharing = partial(guard, sharing=True)
"""``guard`` for share groups."""


def checked(assignment: Any, group: Group, *, sharing: bool) -> Assignment:
    """The assignment, with arrays of int32; raises BrokenRule, which names the first offending partition and its member."""
    if not isinstance(assignment, Assignment):
        raise BrokenRule(f"it returned a {type(assignment).__name__}, not an Assignment")
    rows = _rows(assignment.rows, group)
    withheld = None if assignment.withheld is None else _rows(assignment.withheld, group)
    members, partitions = rows.row_of_each_value(), rows.values
    if withheld is not None:
        members = np.concatenate([members, withheld.row_of_each_value()])
        partitions = np.concatenate([partitions, withheld.values])
    topic_of = group.topics.topic_of
    subscribed = np.zeros(group.total_topics, np.bool_)
    subscribed[group.subscriptions.values] = True
    has_subscribers = subscribed[topic_of]
    _check_subscriptions(group, members, partitions, topic_of, may_keep=~has_subscribers & sharing)
    _check_repeats(group, members, partitions, sharing=sharing)
    forgotten = has_subscribers & (np.bincount(partitions, minlength=len(topic_of)) == 0)
    if forgotten.any():
        raise BrokenRule(f"{_name(group, np.argmax(forgotten))} has subscribers and is assigned to none of them")
    return Assignment(rows, withheld)


def _rows(rows: Any, group: Group) -> Ragged:
    """Rows of partitions, one for each member."""
    if not (isinstance(rows, Ragged) and all(_is_integers(array) for array in (rows.offsets, rows.values))):
        raise BrokenRule("rows and withheld must be Ragged, of one-dimensional integer arrays")
    offsets, values = rows.offsets, rows.values
    ends_meet = len(offsets) == len(group) + 1 and offsets[0] == 0 and offsets[-1] == len(values)
    if not ends_meet or (offsets[1:] < offsets[:-1]).any():
        raise BrokenRule(f"offsets must be {len(group) + 1} ascending integers, from 0 to the number of values")
    outside = (values < 0) | (values >= group.topics.partitions_count)
    if outside.any():
        at = int(np.argmax(outside))
        member = group.member_ids[int(np.searchsorted(offsets, at, side="right")) - 1]
        raise BrokenRule(f"partition {values[at]} of member {member!r} is not in [0, {group.topics.partitions_count})")
    return Ragged(offsets.astype(np.int32), values.astype(np.int32))


def _is_integers(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"


def _check_subscriptions(group: Group, members: Int32s, partitions: Int32s, topic_of: Int32s, *, may_keep: Bools) -> None:
    """may_keep : bool[partitions], those that need no subscription of a member that owns them."""
    foreign = ~_among(members, topic_of[partitions], group.subscriptions)
    foreign &= ~(may_keep[partitions] & _among(members, partitions, group.owned))
    if foreign.any():
        at = int(np.argmax(foreign))
        raise BrokenRule(
            f"{_name(group, partitions[at])} is assigned to member {group.member_ids[members[at]]!r}, "
            "which does not subscribe to the topic"
        )


def _among(members: Int32s, values: Int32s, rows: Ragged) -> Bools:
    """bool[members]: is each value in the row of the member beside it?"""
    width = np.int64(max(values.max(initial=0), rows.values.max(initial=0))) + 1
    return np.isin(members * width + values, rows.row_of_each_value() * width + rows.values)


def _check_repeats(group: Group, members: Int32s, partitions: Int32s, *, sharing: bool) -> None:
    order = np.lexsort((members, partitions))
    members, partitions = members[order], partitions[order]
    repeated = partitions[1:] == partitions[:-1]
    if sharing:
        repeated &= members[1:] == members[:-1]
    if repeated.any():
        at = int(np.argmax(repeated))
        first, second = (group.member_ids[member] for member in members[at : at + 2])
        whom = f"twice to member {first!r}" if first == second else f"to the members {first!r} and {second!r}"
        raise BrokenRule(f"{_name(group, partitions[at])} is assigned {whom}")


def _name(group: Group, partition: Any) -> str:
    """``partition 3 of topic 'orders'``."""
    topics, ids = group.topic_partitions(np.array([partition], np.int32))
    return f"partition {ids[0]} of topic {group.topics.names[topics[0]]!r}"
