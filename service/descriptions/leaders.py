"""Which library leads a classic group, and so assigns it, as far as a description tells.

Brokers do not say which member leads, nor whose library it is. What the leader wrote does in part, and client ids do:

============ ======================== ================================ ============================================
client       version of assignments   their user data                  client id, unless it is configured
============ ======================== ================================ ============================================
java         3 since 3.4; 1 since     none                             consumer-GROUP-1
             2.4; 0 before
librdkafka   0                        the member's own, from its       rdkafka
                                      subscription
franz-go     0                        none                             kgo
sarama       0                        none; of the sticky assignors    sarama
                                      the assignment itself
kafka-python 0; 1 of                  empty                            kafka-python-RELEASE
             cooperative-sticky
aiokafka     0                        empty                            aiokafka-RELEASE
kafkajs      1                        empty                            kafkajs
kafka-go     1                        none                             …(github.com/segmentio/kafka-go)
============ ======================== ================================ ============================================

Source: each client's code that writes SyncGroup; ConsumerProtocolAssignment.HIGHEST_SUPPORTED_VERSION of the releases of Java's.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from service.core.documents import Json
from service.core.registry import exceeds, reaches
from service.strategies import BALANCED, GROUP_PROTOCOLS, REMOTE

NONE, EMPTY, BYTES, MIXED = "none", "empty", "bytes", "mixed"
"""The user data of a group's assignments: ``assignment_user_data`` of a snapshot."""

JAVA_OF: Final = {0: "2.4.1", 1: "2.8.2"}
"""The release of Java's client that is assumed for each version of assignments, of those compared; of later ones the newest."""

NEWEST: Final = 3
"""The newest version of assignments; a later one is Java's too, for other clients have come to 1."""

_RELEASE_IN_ID: Final = re.compile(r"(?:kafka-python|aiokafka)-(\d+(?:\.\d+)*)")
"""The client ids of members that configure none, with their release."""

FIRST_WITH_RACKS: Final = 3
"""The version of librdkafka's subscriptions since 2.2.0, whose assignors know racks."""
BEFORE_RACKS: Final = "2.1"


@dataclass(frozen=True)
class _Library:
    """What a library's leader writes.

    client : its name; versions : of assignments; user_data : kinds; client_id : of clients that configure none
    echoes : is the user data that of the member's subscription?
    assignors : of which this is so; none of them means all
    """

    client: str
    versions: tuple[int, ...]
    user_data: tuple[str, ...]
    client_id: re.Pattern[str]
    echoes: bool = False
    assignors: tuple[str, ...] = ()

    def wrote(self, group: Json) -> bool:
        """Can its leader have written the group's assignments? Whatever is not known fits."""
        version, user_data = group.get("assignment_version"), group.get("assignment_user_data")
        return (
            (version is None or min(version, NEWEST) in self.versions)
            and (user_data is None or user_data in self.user_data)
            and (not self.echoes or group.get("assignment_echoes_subscription", True))
        )

    def has(self, assignor: str) -> bool:
        """Has it an assignor that members call so?"""
        name = assignor if self.client == "java" else f"{self.client}:{assignor}"
        return name in GROUP_PROTOCOLS["classic"].names() and (not self.assignors or assignor in self.assignors)


_LIBRARIES: Final = (
    _Library("java", (0, 1, 2, 3), (NONE,), re.compile(r"consumer-.*\d+")),
    _Library("librdkafka", (0,), (NONE, EMPTY, BYTES, MIXED), re.compile("rdkafka"), echoes=True),
    _Library("sarama", (0,), (NONE,), re.compile("sarama"), assignors=("range", "roundrobin")),
    _Library("sarama", (0,), (BYTES,), re.compile("sarama"), assignors=("sticky", "cooperative-sticky")),
    _Library("franz-go", (0,), (NONE,), re.compile("kgo")),
    _Library("kafka-python", (0,), (EMPTY,), re.compile(r"kafka-python-\d.*"), assignors=("range", "roundrobin", "sticky")),
    _Library("kafka-python", (1,), (EMPTY,), re.compile(r"kafka-python-\d.*"), assignors=("cooperative-sticky",)),
    _Library("aiokafka", (0,), (EMPTY,), re.compile(r"aiokafka-\d.*")),
    _Library("kafka-go", (1,), (NONE,), re.compile(r".*\(github\.com/segmentio/kafka-go\)")),
    _Library("kafkajs", (1,), (EMPTY,), re.compile("kafkajs")),
)
"""The most common first: this is the order in which they are assumed."""


@dataclass(frozen=True)
class Leader:
    """Which library leads a group.

    candidates : the clients that all that is known fits, the one that is taken first; at least one
    release : of that client, if what is known says that it is not the newest: ``client_version`` of a request
    because : what speaks for it, as clauses
    """

    candidates: tuple[str, ...]
    release: str | None
    because: tuple[str, ...]

    @property
    def client(self) -> str:
        """The one that is taken."""
        return self.candidates[0]

    @property
    def fields(self) -> Json:
        """``client`` and ``client_version`` of a request, without the defaults."""
        named = {} if self.client == "java" else {"client": self.client}
        return named | ({} if self.release is None else {"client": self.client, "client_version": self.release})

    @property
    def sentence(self) -> str:
        """Who leads the group, and whether that is known or assumed."""
        name = "Kafka's own client" if self.client == "java" else self.client
        release = f" of a release like {self.release}" if self.release else ""
        clauses = f": {', '.join(self.because)}" if self.because else ""
        if len(self.candidates) == 1:
            return f"its leader is {name}{release}{clauses}"
        others = ", ".join(self.candidates[1:])
        doubt = clauses or ": nothing in the description identifies it"
        return f"its leader is assumed to be {name}{release}, but could be {others}{doubt}"


def leader_of(group: Json) -> Leader | None:
    """Who leads a described group; None if its members do not assign it, or if its assignor says whose it is, or is no client's.

    group : may have ``client``, that someone has said
    """
    assignor = group.get("assignor") or "range"
    if group.get("group_protocol", "classic") != "classic" or ":" in assignor or assignor in (BALANCED.name, *REMOTE):
        return None
    if group.get("client") or group.get("client_version"):
        return Leader((group.get("client") or "java",), group.get("client_version"), ())
    members = group.get("members") or ()
    leading = [member for member in members if member["member_id"] == group.get("leader")] or list(members)
    named = [_named(member) for member in leading]
    fitting = [each.client for each in _LIBRARIES if each.has(assignor) and each.wrote(group)] or ["java"]
    by_id = [client for client in fitting if client in named]
    if by_id:
        fitting = by_id if None not in named else [*by_id, *(client for client in fitting if client not in by_id)]
    client = fitting[0]
    return Leader(tuple(fitting), _release(client, group, leading), tuple(_clauses(client, group, leading)))


def clients_of(group: Json) -> dict[str, int]:
    """How many members use each client, as their ids tell; members whose ids do not tell are left out."""
    return Counter(client for client in map(_named, group.get("members") or ()) if client is not None)


def _named(member: Json) -> str | None:
    """The client that a member's client id names."""
    client_id = member.get("client_id") or ""
    return next((each.client for each in _LIBRARIES if each.client_id.fullmatch(client_id)), None)


def _release(client: str, group: Json, leading: list[Json]) -> str | None:
    if client == "java":
        return JAVA_OF.get(group.get("assignment_version", NEWEST))
    own = [member for member in leading if _named(member) in (client, None)]
    sent = [member["subscription"]["version"] for member in own if "subscription" in member]
    if client == "librdkafka" and sent and max(sent) < FIRST_WITH_RACKS:
        return BEFORE_RACKS
    releases = {match[1] for member in own if (match := _RELEASE_IN_ID.fullmatch(member.get("client_id") or ""))}
    if len(releases) != 1:
        return None
    (release,), known = releases, _compared(client, group)
    return release if reaches(release, known[0]) and not reaches(release, known[-1]) else None


def _compared(client: str, group: Json) -> tuple[str, ...]:
    """The releases of the client with which the group's assignor was compared."""
    return GROUP_PROTOCOLS["classic"][f"{client}:{group.get('assignor') or 'range'}"].client_releases


def _clauses(client: str, group: Json, leading: list[Json]) -> list[str]:
    """What speaks for a client."""
    clauses = []
    if "assignment_version" in group:
        user_data = group.get("assignment_user_data")
        kinds = {NONE: "no user data", EMPTY: "empty user data", BYTES: "user data", MIXED: "user data for some members"}
        more = f" with {kinds[user_data]}" if user_data in kinds else ""
        clauses.append(f"it wrote version {group['assignment_version']} of assignments{more}")
    ids = sorted({member["client_id"] for member in leading if _named(member) == client})
    if ids:
        whose = "its client id is" if group.get("leader") else "a member's client id is"
        clauses.append(f"{whose} {ids[0]!r}")
        if release := _RELEASE_IN_ID.fullmatch(ids[0]):
            known = _compared(client, group)
            if exceeds(release[1], known[-1]) or not reaches(release[1], known[0]):
                clauses.append(f"{release[1]} was not compared, so that {known[-1]} stands for it")
    return clauses
