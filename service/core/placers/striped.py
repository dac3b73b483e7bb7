"""``striped``: KRaft's StripedReplicaPlacer.

One java.util.Random lives as long as the placer; each call of ``place`` makes a fresh model of the cluster from it. The class
goes over the racks in a circle and over each rack's brokers in a circle, and shuffles both when every unfenced broker should
have led once. Plain-Python twin: tests/reference/striped.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from service.core.errors import IllegalArgument, InvalidReplicationFactor
from service.core.jvm.hashing import string_hash_code
from service.core.jvm.ordering import iteration_order
from service.core.jvm.random import JavaRandom, RandomState, next_int_below, shuffle
from service.core.kernels import inner_kernel, kernel
from service.core.model import NONE, Cluster, Int32s, PlacementRequest, java_order, offsets_of

Lists = npt.NDArray[np.int32]

CLUSTERS_KEPT: Final = 8
"""Clusters of which the model is kept; an audit of a topic looks at three."""


_START, _SIZE, _OFFSET, _USED, _LAST_EPOCH = range(5)
"""The columns of ``Lists``, int32[lists, 5]: the lists of ``Model`` while a placement goes round them. A list is ``size``
brokers from ``start``; its circle begins at ``offset``; in ``last_epoch``, when it was last asked, ``used`` of them were had."""


def place(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Int32s:
    """Stripe the partitions over racks and brokers.

    random : the placer's own; it is drawn from also when the placement is then refused
    Returns int32[partitions, replication_factor], indices of brokers, the leader in column 0, which is never fenced.
    Raises InvalidReplicationFactor, IllegalArgument (a negative partition count).
    """
    model = model_of(cluster)
    offsets, rack_offset = draw(model.sizes, len(model.rack_list), random.state)
    check(cluster, request)
    return place_from(model, offsets, rack_offset, cluster, request, random)


def place_until_4_2(cluster: Cluster, request: PlacementRequest, random: JavaRandom) -> Int32s:
    """``place`` of the releases before brokers could be cordoned (KIP-1066), whose errors have other words."""
    try:
        return place(cluster, request, random)
    except InvalidReplicationFactor as refusal:
        words = str(refusal).replace(", or have all their log directories cordoned", "")
        raise InvalidReplicationFactor(words.replace(" or some brokers have all their log directories cordoned", "")) from None


def place_from(
    model: Model, offsets: Int32s, rack_offset: int, cluster: Cluster, request: PlacementRequest, random: JavaRandom
) -> Int32s:
    """The placement after these first draws. random : shuffles after each round"""
    placement = np.empty((request.partitions_count, request.replication_factor), np.int32)
    unfenced = int(np.count_nonzero(~cluster.fenced))
    brokers, rack_list = model.brokers.copy(), model.rack_list.copy()
    _stripe(model.lists(offsets), brokers, rack_list, rack_offset, unfenced, random.state, placement)
    return placement


def check(cluster: Cluster, request: PlacementRequest) -> None:
    """The class's checks, in its order and words."""
    factor = request.replication_factor
    if factor <= 0:
        raise InvalidReplicationFactor(f"Invalid replication factor {factor}: the replication factor must be positive.")
    if cluster.fenced.all():
        raise InvalidReplicationFactor("All brokers are currently fenced, or have all their log directories cordoned.")
    if factor > len(cluster):
        raise InvalidReplicationFactor(
            f"The target replication factor of {factor} cannot be reached because only {len(cluster)} broker(s) are registered "
            "or some brokers have all their log directories cordoned."
        )
    if request.partitions_count < 0:
        raise IllegalArgument(f"Illegal Capacity: {request.partitions_count}")


@dataclass(frozen=True)
class Model:
    """The class's view of a cluster before anything is drawn. Racks are numbered in the order of its hash map.

    racks : the rack_id of each; None for the brokers without one, which are a rack like any other
    starts : int32[2 × racks + 1]   list l is ``brokers[starts[l]:starts[l + 1]]``; rack r's fenced brokers are list 2r, its
                                    unfenced ones list 2r + 1
    brokers : int32[brokers]        by ascending broker_id within a list
    rack_list : int32[racks]        the racks in sorted order, no rack first
    """

    racks: tuple[str | None, ...]
    starts: Int32s
    brokers: Int32s
    rack_list: Int32s

    @cached_property
    def sizes(self) -> Int32s:
        """int32[2 × racks], the length of each list."""
        return np.diff(self.starts)

    def lists(self, offsets: Int32s) -> Lists:
        """The lists before the first partition. offsets : int32[2 × racks], where the circle of each begins"""
        lists = np.zeros((len(offsets), 5), np.int32)
        lists[:, _START], lists[:, _SIZE], lists[:, _OFFSET] = self.starts[:-1], self.sizes, offsets
        return lists


def model_of(cluster: Cluster) -> Model:
    """The class's view of this cluster. It is kept: an audit of one topic asks for it hundreds of times."""
    return _model(cluster.rack_ids, cluster.broker_ids.tobytes(), cluster.racks.tobytes(), cluster.fenced.tobytes())


@lru_cache(maxsize=CLUSTERS_KEPT)
def _model(rack_ids: tuple[str, ...], ids: bytes, rack_numbers: bytes, is_fenced: bytes) -> Model:
    """The arguments are those of Cluster; the arrays, as bytes."""
    broker_ids, all_racks = np.frombuffer(ids, np.int32), np.frombuffer(rack_numbers, np.int32)
    fenced = np.frombuffer(is_fenced, np.bool_)
    # Racks as they first appear: the cluster's own, with "none" where the first broker without a rack stands among them.
    codes, first_seen = np.unique(all_racks, return_index=True)
    codes_in_order = codes[np.argsort(first_seen)].tolist()
    names: list[str | None] = [None if code == NONE else rack_ids[code] for code in codes_in_order]
    hashes = np.array([0 if name is None else string_hash_code(name) for name in names], np.int32)
    in_map = iteration_order(hashes).tolist()
    racks = tuple(names[i] for i in in_map)
    number = np.empty(len(rack_ids) + 1, np.int32)
    number[[codes_in_order[i] for i in in_map]] = np.arange(len(codes_in_order), dtype=np.int32)
    lists = 2 * number[all_racks] + ~fenced
    starts = offsets_of(np.bincount(lists, minlength=2 * len(racks)))
    brokers = np.lexsort((broker_ids, lists)).astype(np.int32)
    named = java_order([name for name in racks if name is not None])
    places = np.array([i for i, name in enumerate(racks) if name is not None], np.int32)
    unnamed = [i for i, name in enumerate(racks) if name is None]
    return Model(racks, starts, brokers, np.concatenate([np.array(unnamed, np.int32), places[named]]).astype(np.int32))


def draw(sizes: Int32s, racks: int, state: RandomState) -> tuple[Int32s, int]:
    """The draws with which a call begins: a start for each list that has brokers, then the rack offset."""
    offsets = np.array([next_int_below(state, size) if size > 0 else 0 for size in sizes.tolist()], np.int32)
    return offsets, int(next_int_below(state, racks)) if racks > 0 else 0


@kernel
def _stripe(
    lists: Lists, brokers: Int32s, rack_list: Int32s, rack_offset: int, unfenced: int, state: RandomState, placement: Int32s
) -> None:
    """Fill ``placement``; all other arrays change on the way.

    No search goes on for ever: the lists that gave the partition before its replicas were last asked in another epoch, so they
    have as many to give again.
    """
    racks, epoch = len(rack_list), 0
    for row in range(len(placement)):
        if epoch == unfenced and unfenced > 1:
            shuffle_all(lists, brokers, rack_list, state)
            epoch = 0
        if rack_offset == racks:
            rack_offset = 0
        leader_at = rack_offset
        leader = _next(2 * rack_list[leader_at] + 1, epoch, lists, brokers)
        while leader == NONE:
            leader_at = leader_at + 1 if leader_at + 1 < racks else 0
            leader = _next(2 * rack_list[leader_at] + 1, epoch, lists, brokers)
        placement[row, 0] = leader
        at = rack_offset
        for replica in range(1, placement.shape[1]):  # the leader's rack is passed over the first time round
            broker = NONE
            while broker == NONE:
                if at == leader_at:
                    leader_at = NONE
                else:
                    broker = _next(2 * rack_list[at] + 1, epoch, lists, brokers)
                    if broker == NONE:
                        broker = _next(2 * rack_list[at], epoch, lists, brokers)
                at = at + 1 if at + 1 < racks else 0
            placement[row, replica] = broker
        epoch += 1
        rack_offset += 1


@kernel
def shuffle_all(lists: Lists, brokers: Int32s, rack_list: Int32s, state: RandomState) -> None:
    """What ends a round: the racks change places, and the brokers within each list."""
    shuffle(state, rack_list)
    for i in range(len(lists)):
        shuffle(state, brokers[lists[i, _START] : lists[i, _START] + lists[i, _SIZE]])


@inner_kernel
def _next(i: int, epoch: int, lists: Lists, brokers: Int32s) -> int:
    """BrokerList.next: the list's next broker in this epoch, or NONE."""
    size = lists[i, _SIZE]
    if size == 0:
        return NONE
    if lists[i, _LAST_EPOCH] != epoch:
        lists[i, _LAST_EPOCH], lists[i, _USED] = epoch, 0
        lists[i, _OFFSET] = lists[i, _OFFSET] + 1 if lists[i, _OFFSET] + 1 < size else 0
    used = lists[i, _USED]
    if used >= size:
        return NONE
    lists[i, _USED] = used + 1
    at = used + lists[i, _OFFSET]
    return int(brokers[lists[i, _START] + (at if at < size else at - size)])
