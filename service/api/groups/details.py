"""Parts of the answer about a group beyond who gets what: its moves, the follow-up rebalance, and what to know of the request."""

from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from service.core.model import NONE, Group
from service.core.rebalances.moves import Moves
from service.decisions.groups.rows import NAME
from service.web.context import reserve
from service.web.json.codec import dumps
from service.web.responses import json_objects

FEW_MOVES: Final = 100
"""Moves up to which they are in the answer without being asked for."""

MOVE_BYTES: Final = 64
"""Memory for each owned and each assigned partition while moves are sought."""

NAMED: Final = 5


def reserve_moves(group: Group, assigned: int) -> None:
    """Reserve the memory in which moves are sought."""
    reserve(MOVE_BYTES * (len(group.owned.values) + assigned))


def moves_json(group: Group, moves: Moves) -> orjson.Fragment:
    """``[{"topic_name", "partition_id", "from_member_id", "to_member_id"}]``."""
    topics, ids = group.topic_partitions(moves.partitions)
    names, members = ([dumps(name).decode() for name in each] for each in (_topic_names(group), group.member_ids))
    longest = max(map(len, names), default=0) + 2 * max(map(len, members), default=4)
    reserve(3 * len(moves) * (longest + 80))
    columns = {
        "topic_name": pa.array(names, NAME).take(pa.array(topics)),
        "partition_id": pc.cast(pa.array(ids), NAME),
        "from_member_id": _members(members, moves.source, "null"),
        "to_member_id": _members(members, moves.target, "null"),
    }
    return orjson.Fragment(b"[%s]" % b",".join(each.as_buffer().to_pybytes() for each in json_objects(**columns)))


def moves_table(group: Group, moves: Moves) -> pa.Table:
    """The same as a table; null where there is no member."""
    topics, ids = group.topic_partitions(moves.partitions)
    return pa.table(
        {
            "topic_name": pa.array(_topic_names(group), NAME).take(pa.array(topics)),
            "partition_id": pa.array(ids),
            "from_member_id": _members(group.member_ids, moves.source, None),
            "to_member_id": _members(group.member_ids, moves.target, None),
        }
    )


def _topic_names(group: Group) -> tuple[str, ...]:
    return (*group.topics.names, *group.unknown_topic_names)


def _members(texts: Any, members: Any, nobody: str | None) -> pa.Array:
    return pa.array([*texts, nobody], NAME).take(pa.array(np.where(members == NONE, len(texts), members)))


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
