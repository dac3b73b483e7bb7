"""Request bodies from the few words that people have: a topic and its partitions, a number of members, a number of brokers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def key(text: str, key_format: str | None) -> Any:
    """A key of the command line as JSON has it."""
    if key_format is None:
        return text
    from service.core.keys.columns import FLOATS, INTEGERS  # noqa: PLC0415 - an import that most answers do not need

    with suppress(ValueError):  # the key format rejects any other text
        if key_format in INTEGERS:
            return int(text)
        if key_format in FLOATS:
            return float(text)
    return text


def topics(partitions_counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The ``topics`` of a group assignment. partitions_counts : topic → its number of partitions"""
    return [{"topic_name": name, "partitions_count": count} for name, count in partitions_counts.items()]


def members(count: int, prefix: str = "member-") -> list[dict[str, Any]]:
    """The ``members`` of a group of ``count``: ``member-1``, ``member-2``, … with zeros before, so that they sort as counted."""
    width = len(str(count))
    return [{"member_id": f"{prefix}{i:0{width}}"} for i in range(1, count + 1)]


def brokers(count: int, racks: int | None = None) -> list[dict[str, Any]]:
    """The brokers 0 … ``count`` - 1, on the racks ``rack-1`` … in turn if ``racks`` are given."""
    if racks is None:
        return [{"broker_id": i} for i in range(count)]
    return [{"broker_id": i, "rack_id": f"rack-{i % racks + 1}"} for i in range(count)]


def object_of(body: bytes) -> dict[str, Any] | None:
    """The JSON object of a body that a command adds to; None if it is anything else."""
    from service.http.json.codec import loads  # noqa: PLC0415 - an import that --help does not need

    try:
        document = loads(body)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def rows(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in a list of a body; none where it is absent or wrong, of which the service says why."""
    found = body.get(name)
    return found if isinstance(found, list) and all(isinstance(row, dict) for row in found) else []
