"""What a description of a cluster says, in the shape of the request bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from service.core.documents import Json
from service.core.errors import InvalidQuestion


class UnreadableDescription(InvalidQuestion):
    """A text that is in none of the known forms, or breaks the rules of its form.

    line : the number of the offending line, from 1
    """

    def __init__(self, detail: str, line: int) -> None:
        super().__init__(f"line {line}: {detail}")
        self.line = line


@dataclass(frozen=True)
class Description:
    """Brokers, topics, groups and log directories of a cluster.

    form : the form of the text, one of FORMS in ``service.descriptions``
    brokers : ``{"broker_id", "rack_id", "fenced", …}`` each; a form that does not list the brokers has those that hold replicas
    topics : ``{"topic_name", "topic_id", "partitions_count", "placements", …}`` each
    groups : ``{"group_id", "group_protocol", "assignor", "members", …}`` each
    log_dirs : ``{"broker_id", "log_dirs"}`` each: what is in each directory of a broker
    notes : sentences about what was skipped or stays open

    A member that the text does not tell is absent.
    """

    form: str
    brokers: tuple[Json, ...] = ()
    topics: tuple[Json, ...] = ()
    groups: tuple[Json, ...] = ()
    log_dirs: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of_snapshot(cls, snapshot: Json) -> Description:
        """The brokers, topics and groups of a snapshot."""
        return cls("snapshot", *(tuple(snapshot[part]) for part in ("brokers", "topics", "groups")))

    def merged(self, other: Description) -> Description:
        """Both descriptions as one. Where both describe the same broker, topic, group or member, the other's fields win.

        Which members a group has, the last description says that lists them.
        """
        return Description(
            other.form,
            _united(self.brokers, other.brokers, "broker_id"),
            _united(self.topics, other.topics, "topic_name"),
            _united(self.groups, tuple(_with_members_of(self.groups, other.groups)), "group_id"),
            _united(self.log_dirs, other.log_dirs, "broker_id"),
            self.notes + other.notes,
        )

    def noted(self, *notes: str) -> Description:
        """The description with further notes."""
        return replace(self, notes=(*self.notes, *notes))


def brokers_of(topics: tuple[Json, ...]) -> tuple[Json, ...]:
    """The brokers that hold replicas of the topics, also those that are being removed, by ascending id."""
    placements = [placement for topic in topics for placement in topic["placements"]]
    ids = {broker for each in placements for name in ("replicas", "removing_replicas") for broker in each.get(name, ())}
    return tuple({"broker_id": broker_id} for broker_id in sorted(ids))


def _with_members_of(groups: tuple[Json, ...], others: tuple[Json, ...]) -> Iterator[Json]:
    """The other groups; their members with the fields that the same members have in ``groups``."""
    known = {group["group_id"]: {member["member_id"]: member for member in group.get("members", ())} for group in groups}
    for other in others:
        of_group = known.get(other["group_id"])
        if of_group and "members" in other:
            members = [{**of_group.get(member["member_id"], {}), **member} for member in other["members"]]
            yield {**other, "members": members}
        else:
            yield other


def _united(some: tuple[Json, ...], others: tuple[Json, ...], key: str) -> tuple[Json, ...]:
    united = {one[key]: one for one in some}
    for one in others:
        united[one[key]] = {**united.get(one[key], {}), **one}
    return tuple(united.values())
