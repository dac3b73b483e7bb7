"""How a placement came about, as a JSON object: what was drawn, the lists counted along, and the rule behind each replica.

Each function takes ``(cluster, request, random, limit)``: a request that the placer has fulfilled, the generator in its state
before that, and the most entries of a list, which is also the most replicas explained. Plain-Python twins: ``explained`` in
tests/reference/admin_utils.py and striped.py.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from service.core.documents import Json
from service.core.jvm.random import JavaRandom
from service.core.model import NONE, Cluster, Int32s, PlacementRequest
from service.core.placers import admin_utils, modulo, striped

Column = npt.NDArray[Any]


def explain_modulo(cluster: Cluster, request: PlacementRequest, random: JavaRandom, limit: int) -> Json:
    """The list that it counts along."""
    request = _first_of(request, limit)
    placement = modulo.place(cluster, request, random)[:, :limit]
    return {
        "rule": f"partition i on broker i mod {len(cluster)}, replica j on (i + j) mod {len(cluster)} of broker_list",
        "first_index": max(0, request.start_partition_id) % len(cluster),
        "broker_list": cluster.broker_ids[:limit],
        "partitions": _partitions(
            {"partition_id": request.partition_ids()},
            {
                "broker_id": cluster.broker_ids[placement],
                "rule": _rules(placement, "leader: broker_list at partition_id mod brokers", "follower: the next of broker_list"),
                "index": placement,
            },
        ),
    }


def explain_rack_unaware(cluster: Cluster, request: PlacementRequest, random: JavaRandom, limit: int) -> Json:
    """Start, shift and the list they count along."""
    brokers = np.arange(len(cluster), dtype=np.int32) if request.partition_0_leader is None else admin_utils.by_id(cluster)
    return _explain_admin_utils(admin_utils.place_rack_unaware, cluster, request, brokers, 1, random, limit)


def explain_rack_aware(cluster: Cluster, request: PlacementRequest, random: JavaRandom, limit: int) -> Json:
    """The same, with the list in which racks alternate."""
    if (cluster.racks == NONE).all():
        return {"racks": "no broker has one: rack-unaware", **explain_rack_unaware(cluster, request, random, limit)}
    brokers = admin_utils.rack_alternated(cluster)
    racks = len(np.unique(cluster.racks[brokers]))
    listed = [cluster.rack_ids[rack] for rack in cluster.racks[brokers[:limit]]]
    explained = _explain_admin_utils(admin_utils.place_rack_aware, cluster, request, brokers, racks, random, limit)
    return {**explained, "rack_list": listed}


def _explain_admin_utils(
    place: Callable[[Cluster, PlacementRequest, JavaRandom], Int32s],
    cluster: Cluster,
    request: PlacementRequest,
    brokers: Int32s,
    racks: int,
    random: JavaRandom,
    limit: int,
) -> Json:
    """What both explanations tell. brokers : int32[...], the list they count along; racks : 1 if they play no part"""
    request, n = _first_of(request, limit), len(brokers)
    placement = place(cluster, request, random.copy())
    start, shift = admin_utils.start_and_shift(cluster, request, n, random)
    fixed = request.partition_0_leader is not None or (request.start_index is not None and request.start_index >= 0)
    drawn = [] if fixed else ["start_index"] if request.replica_shift is not None else ["start_index", "replica_shift"]
    ids = request.partition_ids()
    # In Java's ints, as everything here.
    shifts = (shift + np.cumsum((ids > 0) & (ids % n == 0))).astype(np.int32)
    index_of = np.empty(len(cluster), np.int32)
    index_of[brokers] = np.arange(n, dtype=np.int32)
    indices = index_of[placement]
    counters = admin_utils.counters(indices, shifts * np.int32(racks), n).astype(object)
    counters[:, 0] = None
    leader = "leader: broker_list at (partition_id + start_index) mod brokers"
    replicas: dict[str, Column] = {"broker_id": cluster.broker_ids[placement], "index": indices, "counter": counters}
    if racks == 1:
        replicas["rule"] = _rules(placement, leader, "follower: the next candidate")
    else:
        replicas["rack_id"] = _rack_ids(cluster, placement)
        replicas["rule"] = _rules(
            placement,
            leader,
            "follower: the next candidate, its rack having no replica yet",
            "follower: the next candidate, every rack having a replica already",
            codes=1 + _seen_before(cluster.racks[placement]),
        )
    return {
        "rule": f"first replica at index (partition_id + start_index) mod {n} of broker_list; candidate k for the others "
        f"at (first_index + 1 + (shift × {racks} + k) mod {n - 1}) mod {n}"
        + (", passing over racks and brokers that have a replica while others have none" if racks > 1 else ""),
        "start_index": start,
        "replica_shift": shift,
        "drawn": drawn,
        "broker_list": cluster.broker_ids[brokers[:limit]],
        "partitions": _partitions(
            {"partition_id": ids, "first_index": indices[:, 0], "shift": shifts},
            {name: column[:, :limit] for name, column in replicas.items()},
        ),
    }


def explain_striped(cluster: Cluster, request: PlacementRequest, random: JavaRandom, limit: int) -> Json:
    """The draws in order, the racks and brokers as the placement goes round them, and where it shuffled them."""
    request = _first_of(request, limit)
    placement = striped.place(cluster, request, random.copy())
    model = striped.model_of(cluster)
    sizes, racks = model.sizes, len(model.racks)
    offsets, rack_offset = striped.draw(sizes, racks, random.state)
    draws: list[Json] = [
        {
            "draw": f"nextInt({sizes[i]})",
            "gives": offsets[i],
            "for": f"start of {_named(model.racks[i // 2])}'s {'un' if i % 2 else ''}fenced brokers",
        }
        for i in np.flatnonzero(sizes)
    ]
    draws.append({"draw": f"nextInt({racks})", "gives": rack_offset, "for": "rack offset"})

    def circle(i: int) -> Int32s:
        return np.roll(cluster.broker_ids[model.brokers[model.starts[i] : model.starts[i + 1]]], -offsets[i])[:limit]

    listed = model.rack_list[:limit].tolist()
    unfenced, rows, ids = int(np.count_nonzero(~cluster.fenced)), np.arange(request.partitions_count), request.partition_ids()
    rack_offsets = (rack_offset + rows) % racks
    places = _places_on_the_rack_list(model, model.lists(offsets), unfenced, placement, random)
    walks = [_walk(row, offset, racks) for row, offset in zip(places.tolist(), rack_offsets.tolist(), strict=True)]
    passed, past_leader = np.array(walks, np.int32).reshape(*placement.shape, 2).transpose(2, 0, 1)
    rules = _rules(
        placement,
        "leader: the next unfenced broker of the first rack, from rack_offset on, that has one left",
        "follower: the next unfenced broker of the next rack that has a broker left",
        "follower: the next fenced broker of the next rack that has a broker left, no unfenced one",
        "follower: the next unfenced broker of the next rack, past the leader's, that has a broker left",
        "follower: the next fenced broker of the next rack, past the leader's, that has a broker left, no unfenced one",
        codes=1 + cluster.fenced[placement] + 2 * past_leader,
    )
    replicas = {
        "broker_id": cluster.broker_ids[placement],
        "rack_id": _rack_ids(cluster, placement),
        "racks_without_one_left": passed,
        "rule": rules,
    }
    return {
        "draws": draws[:limit],
        "rack_list": [model.racks[rack] for rack in listed],
        "rack_offset": rack_offset,
        "racks": [
            {"rack_id": model.racks[rack], "unfenced": circle(2 * rack + 1), "fenced": circle(2 * rack)} for rack in listed
        ],
        "shuffled_before_partitions": ids[unfenced::unfenced].tolist() if unfenced > 1 else [],
        "partitions": _partitions(
            {"partition_id": ids, "epoch": rows % unfenced if unfenced > 1 else rows, "rack_offset": rack_offsets},
            {name: column[:, :limit] for name, column in replicas.items()},
        ),
    }


def _places_on_the_rack_list(
    model: striped.Model, lists: striped.Lists, unfenced: int, placement: Int32s, random: JavaRandom
) -> Int32s:
    """int32[partitions, replicas], where each replica's rack stands on the rack list, which is shuffled after every round."""
    rack_of = np.empty(len(model.brokers), np.int32)
    rack_of[model.brokers] = np.repeat(np.arange(len(model.sizes)) // 2, model.sizes)
    places, place_of = np.empty_like(placement), np.empty(len(model.racks), np.int32)
    brokers, rack_list = model.brokers.copy(), model.rack_list.copy()
    a_round = unfenced if unfenced > 1 else max(1, len(placement))
    for first in range(0, len(placement), a_round):
        if first > 0:
            striped.shuffle_all(lists, brokers, rack_list, random.state)
        place_of[rack_list] = np.arange(len(rack_list), dtype=np.int32)
        places[first : first + a_round] = place_of[rack_of[placement[first : first + a_round]]]
    return places


def _walk(places: list[int], rack_offset: int, racks: int) -> list[tuple[int, bool]]:
    """For each replica of a partition how many racks were asked in vain before its own, and was the leader's passed over there?

    A rack that had no broker for one replica has none for the next either, so each walk ends at the first place that fits.
    places : of the replicas' racks on the rack list
    """
    leader, at, to_pass = places[0], rack_offset, True
    steps = [((leader - at) % racks, False)]
    for place in places[1:]:
        passed, past_leader = (place - at) % racks, False
        if to_pass and (leader - at) % racks <= passed:
            to_pass, past_leader = False, True
            passed += racks - 1 if place == leader else -1
        steps.append((passed, past_leader))
        at = (place + 1) % racks
    return steps


def _first_of(request: PlacementRequest, limit: int) -> PlacementRequest:
    """As many of its partitions as have ``limit`` replicas together, but one at least if there is one."""
    return replace(request, partitions_count=min(request.partitions_count, max(1, limit // request.replication_factor)))


def _rules(placement: Int32s, leader: str, *followers: str, codes: Column | None = None) -> Column:
    """The rule of each replica. codes : int[partitions, replicas], which of ``followers`` it is, from 1; default: the first"""
    chosen = np.ones(placement.shape, np.int32) if codes is None else np.array(codes, np.int32)
    chosen[:, 0] = 0
    return np.array([leader, *followers], object)[chosen]


def _rack_ids(cluster: Cluster, placement: Int32s) -> Column:
    """The rack_id of each replica's broker; None where it has none."""
    return np.array([*cluster.rack_ids, None], object)[cluster.racks[placement]]


def _seen_before(racks: Int32s) -> Column:
    """bool[partitions, replicas], has an earlier replica of the partition this rack?"""
    order = np.argsort(racks, axis=1, kind="stable")
    by_rack = np.take_along_axis(racks, order, axis=1)
    repeated = np.zeros(racks.shape, np.bool_)
    np.put_along_axis(repeated, order[:, 1:], by_rack[:, 1:] == by_rack[:, :-1], axis=1)
    return repeated


def _partitions(of_partitions: dict[str, Column], of_replicas: dict[str, Column]) -> list[Json]:
    """An object for each partition, with one for each of its replicas. The columns: [partitions], [partitions, replicas]"""
    rows = _objects(of_partitions)
    replicas = iter(_objects({name: column.ravel() for name, column in of_replicas.items()}))
    each = next(iter(of_replicas.values())).shape[1]
    return [{**row, "replicas": list(islice(replicas, each))} for row in rows]


def _objects(columns: dict[str, Column]) -> list[Json]:
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def _named(rack_id: str | None) -> str:
    return "no rack" if rack_id is None else f"rack {rack_id}"
