"""A rebalance as the row of a table: by its first cause, as far as sources tell."""

from typing import Any

from service.histories.answer import HistoryAnswer, Told
from service.histories.causes import Why
from service.histories.conclusions import sentence


def row_of(answer: HistoryAnswer, told: Told) -> dict[str, Any]:
    """All but times, which tables write differently, and the place of the line that tells the cause. None: not told."""
    rebalance, moves, standstill = told.rebalance, told.moves, told.standstill
    first = next(iter(rebalance.causes), None)
    return {
        "number": rebalance.number,
        "life": rebalance.life,
        "protocol": rebalance.protocol,
        "cause": str(Why.UNKNOWN if first is None else first.kind),
        "members": [] if first is None else list(map(answer.names, first.members)),
        "sentence": None if first is None else sentence(first, answer.names),
        "members_before": None if rebalance.before is None else rebalance.before.count,
        "members_after": None if rebalance.after is None else rebalance.after.count,
        "assignor": rebalance.assignor,
        "moved": None if moves is None else moves.moved,
        "assigned": None if moves is None else moves.of,
        "standstill_least_ms": standstill.least_ms,
        "standstill_most_ms": standstill.most_ms,
    }
