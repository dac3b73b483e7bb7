"""In which polls the members of a classic group go through a rebalance.

A poll of a member that reads nothing waits for responses. One that has records returns at once, and a response is handled in
the next: ClassicKafkaConsumer.pollForFetches; ConsumerCoordinator.poll, which does not wait for the group.
"""

from collections.abc import Iterator

import numpy as np

from service.core.model import NONE, Int32s, Int64s
from service.core.ragged import grouped
from service.planner.timelines.ledger import Wait
from service.planner.timelines.members import Paces
from service.planner.timelines.model import NEVER


def stop_eager_readers(paces: Paces, numbers: Int32s, now_ms: int) -> None:
    """Eager members have stopped reading when they joined: ConsumerCoordinator.onJoinPrepare."""
    columns, ledger = paces.members.columns, paces.ledger
    stop = columns.eager[numbers] & (columns.joins[numbers] <= now_ms)
    if not stop.any():
        return
    stops = np.zeros(len(columns.beat) + 1, np.bool_)
    stops[numbers] = stop
    read = np.flatnonzero(stops[ledger.reader]).astype(np.int32)
    ledger.stop(read, columns.joins[ledger.reader[read]])


def syncs(paces: Paces, numbers: Int32s, now_ms: int) -> Int64s:
    """int64[...], in which poll each of these members gets the response to its JoinGroup, and sends SyncGroup."""
    now = np.full(len(numbers), now_ms, np.int64)
    in_this_poll = (paces.members.columns.joins[numbers] == now) & (paces.members.columns.stalled_until[numbers] <= now)
    polls: Int64s = np.where(in_this_poll, now, paces.next_polls(numbers, now))
    if paces.timing.poll_interval_ms:
        polls = np.where(paces.reading(numbers), paces.polls_after(numbers, now), polls)
    return polls


def receipts(paces: Paces, numbers: Int32s, now_ms: int) -> Int64s:
    """int64[...], in which poll each gets its assignment, now that the leader's SyncGroup has come; NEVER: in none.

    Reproduces ConsumerCoordinator.onJoinComplete. The heartbeat thread receives the response to SyncGroup, a poll handles it.
    """
    sent = paces.members.columns.syncs[numbers]
    answered = np.maximum(sent, now_ms)
    polls = np.where(sent < now_ms, paces.next_polls(numbers, answered), sent)
    if paces.timing.poll_interval_ms:
        polls = np.where(paces.reading(numbers), paces.polls_after(numbers, answered), polls)
    return np.where(sent < NEVER, polls, NEVER)


def batches(owner: Int32s, reader: Int32s, starts: Int64s, late: Int32s) -> Iterator[tuple[int, Int32s, Int32s]]:
    """What late members gain and lose, together for those that poll at the same time; times at which none does are left out.

    owner, reader : int32[partitions], the number of the member that is assigned each, and of the one that reads it, or NONE
    starts : int64[members], when each polls; late : the numbers of the late ones

    Yields (time, partitions gained, partitions lost).
    """
    if len(late):
        times, batch_of = np.unique(starts[late]), np.full(len(starts) + 1, NONE, np.int32)
        batch_of[late] = np.searchsorted(times, starts[late])
        gains, loses = (
            grouped(np.where(owner == reader, NONE, batch_of[numbers]).astype(np.int32), len(times))
            for numbers in (owner, reader)
        )
        for i in np.flatnonzero(gains.lengths() + loses.lengths()).tolist():
            yield int(times[i]), gains.row(i), loses.row(i)


def polls_wait(paces: Paces, first_rejoin: int) -> Wait | None:
    """How long partitions wait for polls: of the last member to rejoin, of the leader, and of the member that gets them."""
    polls = paces.timing.poll_interval_ms
    return Wait(first_rejoin, 3 * polls, is_middle=False) if polls else None
