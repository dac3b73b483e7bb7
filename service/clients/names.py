"""The order of names, and of members, in languages that compare bytes, or code points: C, Go, Rust, Python."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from service.core.assignors.classic import members
from service.core.model import Group, Int32s, ranks_of


def by_bytes(names: Sequence[str]) -> Int32s:
    """int32[names], the positions of ``names`` in ascending order of their bytes in UTF-8, as memcmp has it."""
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int32)  # code points sort as their bytes do


def by_member_id(group: Group) -> Int32s:
    """int32[members], the members in the order of their member_ids, static or not."""
    return by_bytes(group.member_ids)


def byte_ranks(names: Sequence[str]) -> Int32s:
    """int32[names], the place of each in that order."""
    return ranks_of(by_bytes(names))


static_first = partial(members.static_first, in_order=by_bytes)
"""int32[members], the members in order: static ones by instance_id, then dynamic ones by member_id."""
