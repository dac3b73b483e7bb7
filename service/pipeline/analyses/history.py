"""Records of one group → its history, a row for each rebalance: Arrow in, Arrow out. Executors run this."""

import json
from io import BytesIO
from typing import Any, Final

import pyarrow as pa

from service.core.budget import Budget
from service.core.errors import InvalidQuestion
from service.decisions.rows import columns
from service.histories.answer import HistoryQuestion, answer
from service.histories.conclusions import conclusion, row_of
from service.histories.reading import HistorySource

SCHEMA: Final = pa.schema(
    {
        **columns("group string, number int, life int, protocol string, began_at long, joined_at long, ended_at long"),
        **columns("cause string"),
        "members": pa.list_(pa.string()),
        **columns("sentence string, members_before int, members_after int, assignor string, moved int, assigned int"),
        **columns("standstill_least_ms long, standstill_most_ms long, log_partition int, log_offset long"),
        **columns("missing int, faults int"),
    }
)
"""A row for the group, where ``number`` is null: ``sentence`` is its conclusion, ``missing`` counts the rebalances that left no
record, ``faults`` the records that cannot be read, ``began_at`` and ``ended_at`` are the first and the last time. And a row for
each rebalance with its first cause and the place of the record that tells it. Times are in ms since 1970; null is not told."""

NEEDED: Final = ("type", "member", "timestamp", "log_partition", "log_offset", "value")
"""The columns of a group's records that a history is made of, besides its name."""

SOURCE: Final = "__consumer_offsets"


def history_of(records: pa.Table) -> pa.Table:
    """SCHEMA rows of one group. records : NEEDED and ``group``, as ``tasks.coordinator_records`` gives them, in any order"""
    rows = records.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")]).to_pylist()
    group = rows[0]["group"]
    lines = "".join(map(_line, rows))
    try:
        told = answer(HistoryQuestion(group, [HistorySource(SOURCE, BytesIO(lines.encode()))]), Budget())
    except InvalidQuestion:  # only records of members that left, or of other protocols
        head = {"group": group, "sentence": "No record tells of a rebalance.", "missing": 0, "faults": 0}
        return pa.Table.from_pylist([head], SCHEMA)
    first, last = told.span_ms or (None, None)
    head = {"group": group, "sentence": conclusion(told), "began_at": first, "ended_at": last}
    table = [head | {"missing": told.missing, "faults": told.reading.faults_count}]
    for each in told.told:
        rebalance = each.rebalance
        tells = next(iter([*(cause.event for cause in rebalance.causes[:1]), *rebalance.events]), None)
        place = {} if tells is None else {name: rows[tells.line - 1][name] for name in ("log_partition", "log_offset")}
        times = {f"{name}_at": getattr(rebalance, f"{name}_ms") for name in ("began", "joined", "ended")}
        table.append({"group": group, **row_of(told, each), **times, **place})
    return pa.Table.from_pylist(table, SCHEMA)


def _line(record: dict[str, Any]) -> str:
    """A record as ``histories.records`` reads it."""
    value = "null" if record["value"] is None else record["value"]
    stamp = "" if record["timestamp"] is None or record["timestamp"] < 0 else f'"timestamp": {record["timestamp"]}, '
    key = json.dumps({"groupId": record["group"], "memberId": record["member"]})
    return f'{{"record_type": {record["type"]}, {stamp}"key": {key}, "value": {value}}}\n'
