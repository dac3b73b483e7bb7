"""The clients of a classic Streams group, as its leader sees them, and the orders of Java's hash tables of clients and tasks.

Clients are numbered in the order of their process ids, so numbers compare as those do. Tasks are those of ``model.py``, with
subtopologies in the order of their numbers.

Source: org.apache.kafka.streams.processor.internals.assignment.ClientState, ConstrainedPrioritySet (4.3.1).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from service.clients.streams.classic.client import Client
from service.clients.streams.classic.racks import RackCosts
from service.clients.streams.model import TASK_BITS, TASK_ID, StreamsTopology
from service.core.jvm.ordering import DEFAULT_CAPACITY, iteration_order
from service.core.model import Int32s, Int64s
from service.core.registry import Strategy


@dataclass(frozen=True)
class StreamsSettings:
    """AssignmentConfigs. tags : ``rack.aware.assignment.tags``"""

    standby_replicas: int = 0
    max_warmup_replicas: int = 2
    acceptable_recovery_lag: int = 10_000
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class ClientsGroup:
    """A group of the classic protocol.

    subtopologies : the number of each subtopology of the topology; clients : in the order of the request
    lags : int64[stateful tasks × clients by number], how far each state is behind; -2: the client runs the task. Only
        high-availability looks at them
    racks : None: they play no part
    """

    topology: StreamsTopology
    subtopologies: tuple[int, ...]
    clients: tuple[Client, ...]
    settings: StreamsSettings
    lags: Int64s
    racks: RackCosts | None = None

    @property
    def by_number(self) -> list[Client]:
        """The clients in the order of their process ids."""
        return sorted(self.clients, key=lambda client: client.number)

    def hashes(self, tasks: Sequence[int]) -> Int32s:
        """int32[tasks], TaskId.hashCode() of each: Objects.hash(subtopology, partition, null)."""
        each = np.array(tasks, np.int64)
        subtopologies = np.array(self.subtopologies, np.int64)[each >> TASK_BITS]
        codes: Int64s = ((31 + subtopologies) * 31 + (each & TASK_ID)) * 31
        return codes.astype(np.int32)

    def in_order(self, tasks: Iterable[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
        """Tasks in the order of a HashMap or HashSet into which they came in this order, perhaps again."""
        each = list(dict.fromkeys(tasks))
        if len(each) < 2:
            return each
        ranks = np.argsort(np.argsort(np.array(each, np.int64))).astype(np.int32)
        return [each[i] for i in iteration_order(self.hashes(each), capacity=capacity, ranks=ranks).tolist()]


def clients_in_order(clients: Sequence[Client], capacity: int = DEFAULT_CAPACITY) -> list[Client]:
    """Clients in the order of a HashMap or HashSet of their process ids, into which they came in this order."""
    if len(clients) < 2:
        return list(clients)
    hashes = np.array([client.hash_code for client in clients], np.int32)
    ranks = np.array([client.number for client in clients], np.int32)
    return [clients[i] for i in iteration_order(hashes, capacity=capacity, ranks=ranks).tolist()]


@dataclass(frozen=True)
class LeadersAssignor(Strategy):
    """A task assignor of group leaders.

    run : ``(group)`` assigns to the group's clients, in place; returns whether a probing rebalance follows
    setting : what selects it in the configuration of Streams
    is_default : is it what Streams uses if nothing is configured?
    """

    run: Callable[[ClientsGroup], bool]
    setting: str = ""
    is_default: bool = False
