"""The answer: replicas on brokers, and how even that is."""

from dataclasses import dataclass

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.measures import (
    NOT_KNOWN,
    Load,
    ZoneTraffic,
    load_of,
    placed_traffic,
    racks_of,
    read_nearby,
    rows_of_topics,
)
from service.core.model import Cluster
from service.core.placers import Placer
from service.core.printable import counted
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.placements.commands import CommandResult
from service.decisions.placements.question import PlacementQuestion, command
from service.planner.reassignments.model import RACKS_UNKNOWN, rackless


@dataclass(frozen=True)
class PlacementAnswer:
    """What became of the placer's command.

    load : of the brokers, over all topics placed; traffic : between zones, of the same; None without racks
    """

    question: PlacementQuestion
    placer: Placer
    cluster: Cluster
    outcome: CommandResult
    load: Load
    traffic: ZoneTraffic | None

    @property
    def figures(self) -> Figures:
        """See Figures."""
        partitions = sum(len(topic.partition_ids) for topic in self.outcome.placed)
        items = {"partitions": partitions, "brokers": len(self.cluster)}
        return Figures(self.placer.name, items, self.load.spread().skew, self.question.topic_name)

    @property
    def conclusion(self) -> str:
        """What is placed, and where, in a sentence."""
        placed, cluster, count = self.outcome.placed, self.cluster, len(self.outcome.placed)
        partitions = counted(self.figures.items["partitions"], "partition")
        of = f"of {placed[0].topic_name}" if count == 1 else f"of {counted(count, 'topic')}"
        used = self.load.replicas > 0
        on = f"{used.sum():,} of {counted(len(cluster), 'broker')}"
        if cluster.rack_ids:
            on += f" and {len(np.unique(racks_of(cluster)[used])):,} of {counted(len(np.unique(racks_of(cluster))), 'rack')}"
        text = f"Places {partitions} {of} on {on}" if count else "Places nothing"
        if self.outcome.refused:
            text += f"; Kafka refuses {counted(self.outcome.refused, 'topic or request', 'topics or requests')}"
        if self._racks_matter and not cluster.rack_ids and self.question.racks is None:
            text += f"; {RACKS_UNKNOWN}"
        return f"{text}."

    @property
    def warnings(self) -> list[str]:
        """The brokers without a rack where others have one, and what can be read on the reader's rack."""
        without = rackless(self.cluster, np.ones(len(self.cluster), np.bool_)) if self._racks_matter else ()
        return [*without, *read_nearby((self.traffic or NOT_KNOWN).figures(self.question.price_per_gb))]

    @property
    def _racks_matter(self) -> bool:
        """Has a partition several replicas?"""
        return any(topic.replicas.shape[1] > 1 for topic in self.outcome.placed)


def answer(question: PlacementQuestion, budget: Budget) -> PlacementAnswer:
    """Place the replicas. Raises InvalidQuestion (all faults at once), KafkaError, and what the budget raises."""
    placer, order = command(question, budget)
    explained = budget.explained if question.explain else 0
    outcome = order.run(placer, JavaRandom(question.random_seed or 0), explained)
    rows = rows_of_topics([topic.replicas for topic in outcome.placed])
    written = question.bytes_per_second
    rates = None if written is None else np.full(len(rows), written / max(len(rows), 1))
    traffic = placed_traffic(order.cluster, rows, rates)
    return PlacementAnswer(question, placer, order.cluster, outcome, load_of(order.cluster, rows), traffic)
