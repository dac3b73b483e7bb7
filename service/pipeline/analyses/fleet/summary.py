"""The summary of ``fleet``, from the rows of ``assignments`` and ``placements``: a few columns of one row for each result."""

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from service.core.measures import spread
from service.pipeline.analyses.fleet import assignments, placements
from service.pipeline.analyses.fleet.assignments import WRONG_ROW

GROUP_COLUMNS: Final = tuple(name for name in assignments.RESULT.names if name not in ("assignments", "unassigned", "record"))
TOPIC_COLUMNS: Final = tuple(name for name in placements.RESULT.names if name not in ("placements", "record"))
"""What the summary is made of."""

NAMED: Final = 20
"""Most groups and topics that the summary names: the most uneven, the failed."""

QUANTILES: Final = [i / 50 for i in range(51)]
SUMS: Final = ("retained", "moved", "added", "revoked", "fewest_possible_moves")
FAULTS: Final = ("doubled", "unknown_brokers", "wrong_factor", "crowded_racks", "unled")


def of_groups(results: pa.Table) -> tuple[dict[str, Any], dict[str, Sequence[float]]]:
    """The summary of ``assignments.RESULT`` rows, and the groups' skew at each of QUANTILES, by assignor.

    results : GROUP_COLUMNS
    """
    done = _done(results)
    own = done.filter(pc.field("own"))
    by_assignor = _by_assignor(done)
    skews = {names: rows["settled_skew"].drop_null() for names, rows in by_assignor.items()}
    curves = {names: pc.quantile(of, QUANTILES).to_pylist() if len(of) else [] for names, of in skews.items()}
    failed = pc.field("error").is_valid()
    summary: dict[str, Any] = {
        "groups": len(own),
        **{name: _sum(own[name]) for name in ("members", "partitions")},
        "wrong_rows": len(results) - len(done),
        "assignors": [_assignor(*names, rows, curves[names]) for names, rows in by_assignor.items()],
        "comparisons": _comparisons(own, by_assignor),
        "most_skewed": _named(
            _with_best(own.filter(~failed), done), [("skew", "descending"), ("group_id", "ascending")],
            "group_id", "assignor", "partitions", "members", "skew", "best_skew",
        ),
        **_sizes(own),
        "failures": _named(
            done.filter(failed), [("group_id", "ascending"), ("assignor", "ascending")],
            "group_id", "group_protocol", "assignor", "error", "detail",
        ),
    }  # fmt: skip
    return summary, {":".join(names): curve for names, curve in curves.items() if curve}


def _sizes(own: pa.Table) -> dict[str, Any]:
    """How many members groups have and need, of those of which that is known; nothing if of none."""
    known = own.filter(pc.field("recommended_members").is_valid())
    if not len(known):
        return {}
    spare = pc.subtract(known["members"], known["recommended_members"])
    known = known.append_column("spare", spare)
    columns = ("group_id", "assignor", "partitions", "members", "recommended_members", "spare")
    return {
        "sizing": {
            "groups": len(known),
            **{name: _sum(known[name]) for name in ("members", "recommended_members")},
            "too_large": len(known.filter(pc.field("spare") > 0)),
            "too_small": len(known.filter(pc.field("spare") < 0)),
            "most_spare": _named(known.filter(pc.field("spare") > 0), [("spare", "descending")], *columns),
            "most_short": _named(known.filter(pc.field("spare") < 0), [("spare", "ascending")], *columns),
        }
    }


def of_topics(results: pa.Table) -> dict[str, Any]:
    """The summary of ``placements.RESULT`` rows. results : TOPIC_COLUMNS"""
    done = _done(results)
    audited = done.filter(pc.field("obeys").is_valid())
    failed = pc.field("error").is_valid()
    return {
        "topics": len(done),
        "partitions": _sum(done["partitions"]),
        "failed": len(done.filter(failed)),
        "wrong_rows": len(results) - len(done),
        "audit": {
            "audited": len(audited),
            "obey": _sum(audited["obeys"]),
            **{name: _sum(pc.list_value_length(audited[name])) for name in FAULTS},
            "uneven_leaders": len(done.filter(pc.field("leader_changes") > 0)),
            **{name: _sum(done[name]) for name in ("copies", "leader_changes")},
        },
        "broker_load": _loads(done["broker_load"]),
        "current_broker_load": _loads(done["current_broker_load"]),
        "disobeying": _named(
            audited.filter(~pc.field("obeys")),
            [("copies", "descending"), ("leader_changes", "descending"), ("topic_name", "ascending")],
            "topic_name", "partitions", "replication_factor", *FAULTS, "copies", "leader_changes", "most_leaders",
        ),
        "failures": _named(
            done.filter(failed), [("topic_name", "ascending")], "topic_name", "placer", "error", "detail"
        ),
    }  # fmt: skip


def _by_assignor(done: pa.Table) -> dict[tuple[str, str], pa.Table]:
    """The results of each group_protocol and assignor that were tried."""
    tried = done.group_by(["group_protocol", "assignor"]).aggregate([]).to_pylist()
    names = sorted((row["group_protocol"], row["assignor"]) for row in tried)
    return {
        (protocol, assignor): done.filter((pc.field("group_protocol") == protocol) & (pc.field("assignor") == assignor))
        for protocol, assignor in names
    }


def _assignor(protocol: str, assignor: str, rows: pa.Table, quantiles: list[float]) -> dict[str, Any]:
    """The summary's entry for one assignor and its results."""
    at = {name: quantiles[i] if quantiles else None for name, i in (("min", 0), ("median", 25), ("p90", 45), ("max", 50))}
    return {
        "group_protocol": protocol,
        "assignor": assignor,
        "groups": len(rows),
        "failed": len(rows) - rows["error"].null_count,
        "warned": _sum(pc.greater(pc.list_value_length(rows["warnings"]), 0)),
        "follow_up_rebalances": _sum(rows["follow_up_rebalance"]),
        **{name: _sum(rows[name], none=None) for name in SUMS},
        "over_twice": _over_twice(rows),
        "skew": {"mean": pc.mean(rows["settled_skew"].combine_chunks().sort()).as_py(), **at},  # sums depend on the order
    }


def _comparisons(own: pa.Table, by_assignor: dict[tuple[str, str], pa.Table]) -> list[dict[str, Any]]:
    """The sets of groups on which several assignors were tried: all groups, or those of a protocol.

    ``own_over_twice``: as ``over_twice`` of an assignor, by each group's own one.
    """
    protocols = sorted(own["group_protocol"].unique().to_pylist())
    sets = {None: own} | {protocol: own.filter(pc.field("group_protocol") == protocol) for protocol in protocols}
    comparisons: list[dict[str, Any]] = []
    compared: set[tuple[str, str]] = set()
    for protocol, groups in sets.items():
        names = [name for name, rows in by_assignor.items() if name not in compared and len(rows) == len(groups)]
        names = [name for name in names if protocol in (None, name[0])]
        if names and len(groups):
            assignors = [":".join(name) for name in names]
            comparison = {"group_protocol": protocol, "groups": len(groups), "own_over_twice": _over_twice(groups)}
            comparisons.append({**comparison, "assignors": assignors})
            compared.update(names)
    return comparisons


def _over_twice(rows: pa.Table) -> int:
    """Groups in which a member has over twice the mean, after the last of the rebalances."""
    return _sum(pc.greater(rows["settled_skew"], 2.0)) or 0


def _with_best(own: pa.Table, done: pa.Table) -> pa.Table:
    """The rows with their ``settled_skew`` as ``skew``, and as ``best_skew`` the lowest of all assignors that were tried.

    The latter is null for groups without an id, and where several have one id.
    """
    tried = done.filter(pc.field("settled_skew").is_valid() & pc.field("group_id").is_valid())
    best = tried.group_by("group_id").aggregate([("settled_skew", "min"), ("own", "sum")])
    best = best.filter(pc.field("own_sum") == 1).select(["group_id", "settled_skew_min"])
    rows = own.select(["group_id", "assignor", "partitions", "members", "settled_skew"]).join(best, "group_id", use_threads=False)
    return rows.rename_columns({"settled_skew": "skew", "settled_skew_min": "best_skew"})


def _loads(column: pa.ChunkedArray) -> dict[str, Any]:
    """Replicas and leaders of each broker over all topics, and their skew."""
    of_topics = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    rows = pa.Table.from_struct_array(of_topics).group_by("broker_id").aggregate([("replicas", "sum"), ("leaders", "sum")])
    rows = rows.sort_by("broker_id")
    load: dict[str, Any] = {"broker_ids": rows["broker_id"].to_pylist()}
    for name in ("replicas", "leaders"):
        counts = rows[f"{name}_sum"].to_numpy()
        load[name] = {"counts": counts.tolist(), "skew": spread(counts).skew}
    return load


def _done(results: pa.Table) -> pa.Table:
    """The results but the rows that could not be read."""
    return results.filter(pc.field("error").is_null() | (pc.field("error") != WRONG_ROW))


def _sum(values: pa.ChunkedArray, none: int | None = 0) -> int | None:
    """The sum; ``none`` of nothing."""
    total = pc.sum(values).as_py()
    return none if total is None else int(total)


def _named(rows: pa.Table, order: list[tuple[str, str]], *columns: str) -> list[dict[str, Any]]:
    """The first rows in that order; of equal ones, in the order of their other columns, so that every run names the same."""
    rows = rows.select(columns)
    others = (each.name for each in rows.schema if each.name not in dict(order) and not pa.types.is_list(each.type))
    named: list[dict[str, Any]] = rows.sort_by([*order, *((name, "ascending") for name in others)]).slice(0, NAMED).to_pylist()
    return named
