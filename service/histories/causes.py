"""Why a group rebalances, by the words of its coordinator and of its members.

Source: GroupCoordinator.scala of Kafka 2.0 to 3.9, GroupMetadataManager.java (``prepareRebalance``) since 4.0; and of the members
AbstractCoordinator, ConsumerCoordinator (``requestRejoin``, ``maybeLeaveGroup``).
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple


class Why(StrEnum):
    """Why a rebalance came."""

    JOIN = "join"
    LEAVE = "leave"
    SESSION = "session_expired"
    POLL = "poll_interval_exceeded"
    TIMEOUT = "rebalance_timeout"
    GONE = "leave_or_expiry"
    SUBSCRIPTION = "subscription"
    PARTITIONS = "new_partitions"
    LEADER_METADATA = "leader_metadata"
    TOPICS = "topic_metadata"
    EITHER = "subscription_or_topics"
    REVOCATION = "cooperative_revocation"
    ENFORCED = "enforced"
    PROTOCOL = "assignor_changed"
    SIZE = "group_too_large"
    MOVED = "coordinator_moved"
    ERROR = "coordinator_error"
    UNKNOWN = "unknown"


WORDS: Final = {
    Why.JOIN: "joined",
    Why.LEAVE: "left",
    Why.SESSION: "was removed when its session expired",
    Why.POLL: "left because it had not polled for max.poll.interval.ms",
    Why.TIMEOUT: "did not rejoin or sync in time",
    Why.GONE: "was removed: whether it left or its session expired is not told",
    Why.SUBSCRIPTION: "changed its subscription",
    Why.PARTITIONS: "a topic got partitions",
    Why.LEADER_METADATA: "the leader saw other topics or partitions",
    Why.TOPICS: "a subscribed topic changed (partitions, racks, or it is new or gone)",
    Why.EITHER: "a subscription changed, or a topic: which of them is not told",
    Why.REVOCATION: "second step of a cooperative rebalance: revoked partitions are assigned",
    Why.ENFORCED: "the application asked for it",
    Why.PROTOCOL: "a static member returned with other assignors",
    Why.SIZE: "the group is larger than group.max.size",
    Why.MOVED: "the coordinator moved",
    Why.ERROR: "the coordinator could not store the assignment",
    Why.UNKNOWN: "not told",
}
"""Kind of cause → in words, after the member's name if it is of a member."""

GOES: Final = (Why.LEAVE, Why.SESSION, Why.POLL, Why.TIMEOUT, Why.GONE)
"""A member has gone."""

OF_MEMBERS: Final = (Why.JOIN, *GOES, Why.SUBSCRIPTION)


class Reason(NamedTuple):
    """What a reason means. members : who, if it names any; said : what the member itself gave as its reason, "" if nothing"""

    kind: Why
    members: tuple[str, ...] = ()
    said: str = ""


_OF_CLIENTS: Final = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"poll timeout has expired", Why.POLL),
        (r"consumer is being closed|unsubscribed from all topics", Why.LEAVE),
        (r"given member-id|MemberIdRequired", Why.JOIN),
        (r"need to revoke partitions", Why.REVOCATION),
        (r"cached metadata has changed|Metadata for subscribed topic", Why.LEADER_METADATA),
        (r"subscription has changed|does not match the current subscription", Why.SUBSCRIPTION),
        (r"NotCoordinator|CoordinatorNotAvailable|CoordinatorLoadInProgress|NOT_COORDINATOR", Why.MOVED),
        (r"enforced|probing rebalance|Shutdown", Why.ENFORCED),
    )
)
UNSAID: Final = ("not provided", "null", "None", "")
"""What stands for a reason that a member does not give."""

_SAID: Final = r"(?:; client reason: (?P<said>.*))?$"
_OF_BROKERS: Final = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"^Adding new member (?P<member>\S+) with group ?instance ?id (?P<instance>[^;]*)" + _SAID, Why.JOIN),
        (r"^removing member (?P<member>\S+) on heartbeat expiration", Why.SESSION),
        (r"^explicit `?LeaveGroup`? request for \((?P<members>.*)\) members", Why.LEAVE),
        (r"^[Rr]emoving member (?P<member>\S+) on LeaveGroup" + _SAID, Why.LEAVE),
        (r"^[Ll]eader (?P<member>\S+) re-joining group(?: during \w+)?" + _SAID, Why.UNKNOWN),
        (
            r"^Updating metadata for (?:static )?member (?P<member>[^ ;]+)(?: with instance id [^;]*)?(?: during \w+)?" + _SAID,
            Why.UNKNOWN,
        ),
        (r"^Member (?P<member>\S+) is joining group|^Member (?P<joining>\S+) joining group", Why.UNKNOWN),
        (r"^Group's selectedProtocol will change because static member (?P<member>\S+)", Why.PROTOCOL),
        (r"^Removing (?P<members>.*) on pending sync request expiration", Why.TIMEOUT),
        (r"^Freshly-loaded group", Why.SIZE),
        (r"^[Ee]rror .*when storing group assignment", Why.ERROR),
    )
)


def client_reason(said: str | None) -> Why | None:
    """The kind of cause that a member's own reason is; None if it gives none, or one that tells no cause."""
    return next((kind for pattern, kind in _OF_CLIENTS if pattern.search(said or "")), None)


def broker_reason(text: str) -> Reason:
    """What the reason of "Preparing to rebalance group" means; Why.UNKNOWN if it is none of Kafka's, or tells no cause."""
    for pattern, kind in _OF_BROKERS:
        if match := pattern.search(text):
            found = match.groupdict()
            member = found.get("member") or found.get("joining")
            members = (member,) if member else listed(found.get("members") or "")
            said = found.get("said") or ""
            said = "" if said in UNSAID else said
            own = client_reason(said)
            if own is not None and (kind == Why.UNKNOWN or own == Why.POLL):
                kind = own  # noqa: PLW2901 - the member knows better
            return Reason(kind, members, said)
    return Reason(Why.UNKNOWN)


def listed(text: str) -> tuple[str, ...]:
    """The names in a list as Java or Scala print it: ``[a, b]``, ``Set(a, b)``, ``a, b``."""
    inner = re.sub(r"^(?:\w*\(|\[|\{)|[)\]}]$", "", text.strip())
    return tuple(name.strip() for name in inner.split(",") if name.strip())
