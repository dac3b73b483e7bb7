"""The answer: replicas on brokers, and how even that is."""

from dataclasses import dataclass

import numpy as np

from service.core.jvm.random import JavaRandom
from service.core.measures.broker_load import Load, load_of, rows_of_topics
from service.core.measures.zone_traffic import ZoneTraffic, placed_traffic
from service.core.model import Cluster
from service.core.placers import Placer
from service.decisions.budget import Budget
from service.decisions.figures import Figures
from service.decisions.placements.commands import CommandResult
from service.decisions.placements.question import PlacementQuestion, command


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


def answer(question: PlacementQuestion, budget: Budget) -> PlacementAnswer:
    """Place the replicas. Raises InvalidQuestion (all faults at once), KafkaError, and what the budget raises."""
    placer, order = command(question, budget)
    explained = budget.explained if question.explain else 0
    outcome = order.run(placer, JavaRandom(question.random_seed or 0), explained, budget.check_time)
    rows = rows_of_topics([topic.replicas for topic in outcome.placed])
    written = question.bytes_per_second
    rates = None if written is None else np.full(len(rows), written / max(len(rows), 1))
    traffic = placed_traffic(order.cluster, rows, rates)
    return PlacementAnswer(question, placer, order.cluster, outcome, load_of(order.cluster, rows), traffic)
