"""The description of a placer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

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
    is_timed : do ``run`` and ``draws`` take ``check_time``, which they call now and then, and which raises what ends them?
    explain : how ``run`` arrives at its answer, as a JSON object: ``(cluster, request, generator as before the run, most
        entries of a list)``; None if there is nothing to explain
    """

    requests: tuple[str, ...] = ("partitions_count", "topics")
    options: tuple[str, ...] = ()
    takes_repeated_ids: bool = False
    draws: RandomDraws | None = None
    is_timed: bool = False
    explain: Callable[[Cluster, PlacementRequest, JavaRandom, int], dict[str, Any]] | None = None

    def within(self, check_time: Callable[[], None]) -> Self:
        """The placer that looks at the time before each placement, and before it looks for draws."""
        options = {"check_time": check_time} if self.is_timed else {}

        def timed(call: Callable[..., Any]) -> Callable[..., Any]:
            def looking(*arguments: Any) -> Any:
                check_time()
                return call(*arguments, **options)

            return looking

        draws = self.draws
        if draws is not None:
            on, every, of_placement = draws.on, timed(draws.every), timed(draws.of_placement)
            draws = RandomDraws(of_placement, every, lambda cluster: timed(on(cluster)))
        return replace(self, run=timed(self.run), draws=draws)
