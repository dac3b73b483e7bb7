"""Parts of the answer about a group beyond who gets what: its moves, the follow-up rebalance, and what to know of the request."""

from typing import Final

import numpy as np
import pyarrow as pa

from service.core.model import NONE, Group, Int32s
from service.core.rebalances.moves import Moves
from service.decisions.groups.rows import NAME
from service.web.context import reserve
from service.web.json.codec import LongText, dumps
from service.web.json.rows import Part, json_list

FEW_MOVES: Final = 100
"""Moves up to which they are in the answer without being asked for."""

MOVE_BYTES: Final = 64
"""Memory for each owned and each assigned partition while moves are sought."""

NAMED: Final = 5


def reserve_moves(group: Group, assigned: int) -> None:
    """Reserve the memory in which moves are sought."""
    reserve(MOVE_BYTES * (len(group.owned.values) + assigned))


def moves_json(group: Group, moves: Moves) -> LongText:
    """``[{"topic_name", "partition_id", "from_member_id", "to_member_id"}]``."""
    topics, ids = group.topic_partitions(moves.partitions)
    names = [b'{"topic_name":%s,"partition_id":' % dumps(name) for name in _topic_names(group)]
    members = [dumps(name) for name in (*group.member_ids, None)]
    longest = max(map(len, names)) + 2 * max(map(len, members))
    reserve(len(moves) * (longest + 80))
    sources, targets = (np.where(each == NONE, len(members) - 1, each) for each in (moves.source, moves.target))
    return json_list(
        len(moves),
        Part(names, topics, ids),
        Part([b',"from_member_id":' + member for member in members], sources),
        Part([b',"to_member_id":' + member + b"}" for member in members], targets),
    )


def moves_table(group: Group, moves: Moves) -> pa.Table:
    """The same as a table; null where there is no member."""
    topics, ids = group.topic_partitions(moves.partitions)
    return pa.table(
        {
            "topic_name": pa.array(_topic_names(group), NAME).take(pa.array(topics)),
            "partition_id": pa.array(ids),
            "from_member_id": _members(group, moves.source),
            "to_member_id": _members(group, moves.target),
        }
    )


def _topic_names(group: Group) -> tuple[str, ...]:
    return (*group.topics.names, *group.unknown_topic_names)


def _members(group: Group, members: Int32s) -> pa.Array:
    return pa.array(group.member_ids, NAME).take(pa.array(members, mask=members == NONE))


def warnings(group: Group) -> list[str]:
    """What is odd in a request, though it can be answered."""
    sentences = []
    if group.topics.racks is None and (group.racks != NONE).any():
        sentences.append("The rack_id of a member does not matter, because no topic has partition_racks.")
    is_subscribed = np.zeros(len(group.topics) + len(group.unknown_topic_names), np.bool_)
    if group.unknown_topic_names:
        is_subscribed[group.subscriptions.values] = True
    unknown = zip(group.unknown_topic_names, is_subscribed[len(group.topics) :].tolist(), strict=True)
    missing = [name for name, subscribed in unknown if subscribed]
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        named = ", ".join(repr(name) for name in missing[:NAMED])
        sentences.append(f"Members subscribe to topics that are not in `topics`, and so do not exist: {named}{more}.")
    return sentences
