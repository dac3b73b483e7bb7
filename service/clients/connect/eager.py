"""Connect's eager protocol: workers stop all they run, and get all in turn.

Source: org.apache.kafka.connect.runtime.distributed.EagerAssignor (4.3.1).
"""

from itertools import cycle

from service.clients.connect.model import LeaderState, Reassignment, Round, WorkSets
from service.clients.connect.work import Work
from service.core.jvm.sorting import utf16


def assign(group: Round, state: LeaderState, max_delay_ms: int) -> tuple[Reassignment, LeaderState]:  # noqa: ARG001
    """Deal the connectors, then the tasks, to the workers in the order of their member ids. The leader remembers nothing."""
    assigned = {member: Work() for member in group.workers}
    turn = cycle(sorted(group.workers, key=utf16))
    for connector in group.configured.connectors:
        assigned[next(turn)].connectors[connector] = None
    for task in group.configured.tasks:
        assigned[next(turn)].tasks[task] = None
    decision = "Workers stop all that they run, and get the connectors and then the tasks in turn."
    return Reassignment(assigned, {member: Work() for member in group.workers}, 0, WorkSets(), decision), state
