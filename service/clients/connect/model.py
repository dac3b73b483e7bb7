"""A rebalance of a group of Connect workers, and what its leader remembers between rebalances."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from service.clients.connect.work import Work
from service.core.registry import Strategy


@dataclass(frozen=True)
class Round:
    """What the leader knows when it assigns.

    now_ms : its clock, at least 0
    generation_id : that it is to assign
    completed_generation_id : the last one for which it received its own assignment; -1: none
    configured : the connectors and tasks that exist, ascending
    workers : member_id → what the worker says that it runs, in the order of its bytes; workers in JoinGroup order, at least one
    """

    now_ms: int
    generation_id: int
    completed_generation_id: int
    configured: Work
    workers: Mapping[str, Work]


@dataclass(frozen=True)
class LeaderState:
    """What a leader's IncrementalCooperativeAssignor remembers; the defaults are those of a new leader.

    previous_assignment : all that it has assigned and not revoked, and what was lost and waits
    previous_revocation : what it has revoked last
    revoked_in_previous : did it revoke to balance loads, and were loads not balanced yet since then?
    successive_revoking_rebalances : how often in a row it wanted to
    scheduled_rebalance_ms : on its clock, when the delay ends; 0: there is none
    delay_ms : of the last rebalance
    candidates : member ids of workers without work, which are to take over what was lost after the delay, in order
    previous_generation_id, previous_members : of its last assignment
    """

    previous_assignment: Work = field(default_factory=Work)
    previous_revocation: Work = field(default_factory=Work)
    revoked_in_previous: bool = False
    successive_revoking_rebalances: int = 0
    scheduled_rebalance_ms: int = 0
    delay_ms: int = 0
    candidates: tuple[str, ...] = ()
    previous_generation_id: int = -1
    previous_members: frozenset[str] = frozenset()


@dataclass(frozen=True)
class WorkSets:
    """How the connectors and tasks of a round were classified, each ascending.

    deleted : assigned before, configured no more; created : configured, and neither assigned before nor run
    lost : assigned before and configured, but no worker runs it; duplicated : more than one worker runs it
    """

    deleted: Work = field(default_factory=Work)
    created: Work = field(default_factory=Work)
    lost: Work = field(default_factory=Work)
    duplicated: Work = field(default_factory=Work)


@dataclass(frozen=True)
class Reassignment:
    """The leader's answer, by member id.

    assigned : what a worker is to start (of an eager group: all that it is to run); revoked : what it is to stop
    delay_ms : after which all are to join again; 0: they need not
    decision : why it waits, revokes or does not, in a sentence
    """

    assigned: Mapping[str, Work]
    revoked: Mapping[str, Work]
    delay_ms: int
    sets: WorkSets
    decision: str


@dataclass(frozen=True)
class ConnectAssignor(Strategy):
    """A protocol of Connect's workers.

    run : ``(round, what the leader remembers, scheduled.rebalance.max.delay.ms)`` → (answer, what it remembers then)
    is_cooperative : do workers keep what they run until it is revoked?
    setting : what selects it in the worker's configuration
    is_default : is it what a worker uses if nothing is configured?
    """

    run: Callable[[Round, LeaderState, int], tuple[Reassignment, LeaderState]]
    is_cooperative: bool = True
    setting: str = ""
    is_default: bool = False
