"""The description of a placer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.core.jvm.random import JavaRandom
from service.core.model import Cluster, PlacementRequest
from service.core.placers.draws import RandomDraws
from service.core.registry import Strategy


@dataclass(frozen=True)
class Placer(Strategy):
    """One way to place replicas.

    requests : the forms of a request that it supports, each by the field that marks it
    options : the fields of PlacementRequest, beyond the counts and the first id, that it uses
    takes_repeated_ids : may several brokers have the same id?
    draws : what it draws at random, where that can be told from a placement; None: nothing, or it is not known
    explain : how ``run`` arrives at its answer, as a JSON object: ``(cluster, request, generator as before the run, most
        entries of a list)``; None if there is nothing to explain
    """

    requests: tuple[str, ...] = ("partitions_count", "topics")
    options: tuple[str, ...] = ()
    takes_repeated_ids: bool = False
    draws: RandomDraws | None = None
    explain: Callable[[Cluster, PlacementRequest, JavaRandom, int], dict[str, Any]] | None = None
