"""What ``load`` concludes, from its summary."""

from collections.abc import Mapping
from typing import Any, Final

from service.core.printable import all_of, counted
from service.report.figures import number, size

WITHOUT: Final = {"records_nobody_reads": "records without a group", "records_without_placement": "records without a placement"}


def conclusion(summary: dict[str, Any]) -> str:
    """The first sentence: what is above a limit, or else what is busiest."""
    breaches = summary["breaches"]
    if summary["limits"]:
        if not breaches["subjects"]:
            windows = f"{counted(summary['span']['windows'], 'window')} of {summary['span']['window_seconds']:g} s"
            missing = [f"{number(summary[name])} {text}" for name, text in WITHOUT.items() if summary[name]]
            return f"Nothing went above a limit in {windows}{'; not counted: ' * bool(missing)}{all_of(missing, 2)}."
        worst = breaches["worst"][0]
        name = worst["measure"].replace("_", " ")
        peak, limit = (rate(worst[which], worst["measure"]) for which in ("peak", "limit"))
        several = f"{number(breaches['subjects'])} went above a limit; the worst, " if breaches["subjects"] > 1 else ""
        return f"{several}{name_of(worst)}{',' if several else ''} reached {peak} {name}/s, where {limit} are allowed."
    if summary["partitions"] is None:
        return ""
    busiest = summary["partitions"]["busiest"][0]
    peak = number(busiest["peak_records_per_second"])
    return f"The busiest partition, {busiest['subject']}, took in {peak} records/s at its peak."


def name_of(row: Mapping[str, Any]) -> str:
    """A broker, a partition or a consumer, with its group."""
    if row["kind"] == "broker":
        return f"broker {row['subject']}"
    return str(row["subject"]) if row["group_id"] is None else f"{row['group_id']}: {row['subject']}"


def rate(value: float | None, of: str) -> str:
    """A formatted rate of records or bytes."""
    if value is None:
        return "—"
    return number(value) if of == "records" else size(value)
