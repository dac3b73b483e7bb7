"""Who gets what, and what moves, for a terminal: a row a member."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Final

from service.cli.terminal import Cells
from service.core.documents import Json
from service.report.figures import id_ranges

HEADS: Final = ("member", "has", "gets", "gives up", "assigned")

FEWEST_DIGITS: Final = 4
"""Digits of a drawn id that are shown at least."""

_DRAWN: Final = re.compile(r"-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
"""The part of a member id that brokers and clients draw at random."""


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """The part of each id that tells it from the others: without what was drawn, or as many digits of that as it takes."""
    parts = {one: (one[: match.start()], match[1]) if (match := _DRAWN.search(one)) else (one, "") for one in ids}
    clients = Counter(client for client, _ in parts.values())
    drawn = [part for part in parts.values() if part[1] and clients[part[0]] > 1]
    digits = next(n for n in count(FEWEST_DIGITS) if len({(client, text[:n]) for client, text in drawn}) == len(drawn))
    common = len(clients) == 1
    return {
        one: client if clients[client] == 1 else f"{'' if common else f'{client}-'}{text[:digits]}…"
        for one, (client, text) in parts.items()
    }


def assignment_rows(assignments: Sequence[Json], before: Sequence[Json] = ()) -> list[Cells]:
    """A row a member: how many partitions it has, how many of them are new to it, how many it loses, and which it has.

    assignments, before : objects with ``member_id`` and ``partitions``; members that leave are only in ``before``
    """
    owned = {one["member_id"]: _partitions(one) for one in before}
    after = {one["member_id"]: one for one in assignments}
    names = short_names({**after, **owned})
    moves = any(owned.values())
    rows: list[Cells] = []
    for member_id, name in names.items():
        assignment = after.get(member_id, {"partitions": []})
        has, had = _partitions(assignment), owned.get(member_id, set())
        figures = (str(len(has - had) or ""), str(len(had - has) or "")) if moves else ("", "")
        rows.append((name, str(len(has)), *figures, listed(assignment["partitions"]) if member_id in after else "leaves"))
    return rows


def listed(parts: Sequence[Json]) -> str:
    """``orders 0-3, payments 2``."""
    return ", ".join(f"{part['topic_name']} {id_ranges(part['partition_ids'])}" for part in parts if part["partition_ids"]) or "—"


def _partitions(assignment: Json) -> set[tuple[str, int]]:
    return {(part["topic_name"], i) for part in assignment["partitions"] for i in part["partition_ids"]}
