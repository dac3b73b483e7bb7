"""The functions of the library. Each uses the service's own form, so its answer is exactly that of the service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from partition_allocator import inputs
from partition_allocator.answers import Answer
from partition_allocator.asking import Output, ask, ask_about_keys, ask_exactly
from service.core.registry import Later
from service.http.json.codec import dumps, loads

if TYPE_CHECKING:
    import numpy.typing as npt

    from partition_allocator.inputs import Rows, Topics

catalogue = Later("service.api.catalogue")  # which imports every family


def partitions(
    keys: Any, partitions_count: int, partitioner: str = "java", *, key_format: str | None = None, **fields: Any
) -> npt.NDArray[np.int32]:
    """The partition of each key, int32[n], as the partitioner of a client computes it.

    keys : list, NumPy array, pandas Series or Arrow array of text, bytes, integers, floats or booleans. None (in pandas also NaN)
        is a record without a key, masked in the answer where the client draws its partition and ``fields`` do not decide.
        Integers are ``long``, floats ``double``, unless ``key_format`` names another serializer.
    fields : the other fields of ``POST /v1/partitions``, such as ``random_seed`` and ``counter``
    Raises Rejected, also for keys that do not fit ``key_format``; TypeError if ``keys`` is a single key, has several types, or
    has integers that pandas has made doubles because one was missing; ValueError if another column has another length.

    >>> partitions(["order-1", "order-2"], 6)
    array([4, 3], dtype=int32)
    """
    question = {"partitioner": partitioner, "partitions_count": partitions_count, **fields}
    from service.core.partitioners import PARTITIONERS  # noqa: PLC0415 - which imports every partitioner

    column = inputs.key_column(keys, key_format)
    table = ask_about_keys("/v1/partitions", question, column, {}, "arrow", key_format)
    found = cast("npt.NDArray[np.int32]", table.column("partition_id").to_numpy())
    null = PARTITIONERS[partitioner].null
    if null.counts_as is not None or not null.options or fields.keys() & set(null.options):
        return found
    mask = inputs.are_null(column)
    return np.ma.masked_array(found, mask) if mask.any() else found


def compare(
    keys: Any,
    partitions_count: int,
    partitioners: Sequence[str] | None = None,
    *,
    key_format: str | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """The share of these keys on which each pair of partitioners agrees: the answer of ``POST /v1/partitioner-comparisons``.

    keys : as for ``partitions``; partitioners : names of ``partitioners()``; default: all
    output : "dict" is the answer; "arrow" and "pandas" its table of pairs
    fields : the other fields of the endpoint, such as ``examples``
    Raises the errors of ``partitions``.

    >>> compare(["a", "b", "c", "d"], 6, ["java", "sarama"])["pairs"][0]["agreement"]
    0.0
    """
    question = {"partitions_count": partitions_count, "partitioners": partitioners, **fields}
    return ask_about_keys("/v1/partitioner-comparisons", question, keys, {}, output, key_format)


def fingerprint(
    keys: Any,
    partition_ids: Any,
    partitions_count: int | None = None,
    *,
    key_format: str | None = None,
    explain: bool = False,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Which partitioners explain the partitions of these keys: the answer of ``POST /v1/partitioner-fingerprints``.

    keys : as for ``partitions``; partition_ids : the partition of each key; partitions_count : default: inferred
    explain : also answer how it was computed, as with ``?explain=true``
    output : "dict" is the answer; "arrow" and "pandas" its table of candidates
    fields : the other fields of the endpoint, such as ``partitioners`` (a list of the names to consider)
    Raises the errors of ``partitions``.

    >>> keys = [f"order-{i}" for i in range(50)]
    >>> fingerprint(keys, partitions(keys, 12, "sarama"), 12, partitioners=["java", "sarama"])["verdict"]
    'identified'
    """
    ids = {"partition_id": inputs.integer_column(partition_ids, "partition_ids")}
    question = {"partitions_count": partitions_count, **fields}
    return ask_about_keys("/v1/partitioner-fingerprints", question, keys, ids, output, key_format, explain=explain)


def plan(
    keys: Any = None,
    partitions_counts: Sequence[int] | None = None,
    *,
    records: Any = None,
    bytes: Any = None,  # noqa: A002 - the field of the endpoint
    key_format: str | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """How many partitions a topic should have: the answer of ``POST /v1/partition-count-plans``.

    keys : as for ``partitions``, one for each record, or with ``records`` different ones; None: throughput alone decides
    partitions_counts : the counts to compare
    records, bytes : of each key, how many records it has, and their bytes
    output : "dict" is the answer; "arrow" and "pandas" its table, a row for each partitioner and count
    fields : the other fields of the endpoint, such as ``current_partitions_count``, ``max_skew`` and ``target_mb_per_second``
    Raises the errors of ``partitions``.

    >>> answer = plan([f"order-{i}" for i in range(1000)], [6, 12], max_skew=1.2)
    >>> answer["limits"][0]["smallest"]["skew"]
    6
    >>> plan(target_mb_per_second=100, producer_mb_per_second=10, consumer_mb_per_second=5)["throughput"]["partitions_count"]
    20
    """
    question = {"partitions_counts": partitions_counts, **fields}
    weights = {} if records is None else {"records": inputs.integer_column(records, "records")}
    weights |= {} if bytes is None else {"bytes": inputs.integer_column(bytes, "bytes")}
    if keys is not None:
        return ask_about_keys("/v1/partition-count-plans", question, keys, weights, output, key_format)
    if weights:
        raise TypeError("keys must be a list, an array or a column if there are records or bytes of each.")
    return ask("/v1/partition-count-plans", {**question, "key_format": key_format}, output)


def trace(
    key: Any, texts: str | Sequence[str] = (), topic_name: str | None = None, *, output: Output = "dict", **fields: Any
) -> Any:
    """The way of a key to its partition, brokers and readers, now and after a change: the answer of ``POST /v1/key-traces``.

    texts : what describes the cluster, as for ``read``; topic_name : None: the only topic
    output : "dict" is the answer; "arrow" and "pandas" its table, a row for each reader
    fields : the other fields of the endpoint, such as ``partitioner``, ``partitions_count`` and ``planned_partitions_count``
    Raises Rejected.

    >>> trace("order-1", topic_name="orders", partitions_count=12)["now"]["partition_id"]
    10
    """
    question = {"key": key, "texts": [texts] if isinstance(texts, str) else list(texts), "topic_name": topic_name}
    return ask("/v1/key-traces", {**question, **fields}, output)


def keyless(partitions: int | Rows, rule: str = "adaptive", *, output: Output = "dict", **fields: Any) -> Any:
    """Which share of records without a key each partition gets: the answer of ``POST /v1/keyless-distributions``.

    partitions : a number of partitions, or rows with ``partition_id``, ``leader_id`` and ``queue_size``
    rule : "round-robin", "sticky", "uniform-sticky" or "adaptive", which differ between releases of Kafka
    output : "dict" is the answer; "arrow" and "pandas" its table: ``partition_id``, ``share``
    fields : the other fields of the endpoint, such as ``brokers`` and ``producers``
    Raises Rejected, TypeError.

    >>> keyless(4, "round-robin")["shares"]
    [0.25, 0.25, 0.25, 0.25]
    """
    topic: dict[str, Any]
    if isinstance(partitions, SupportsIndex):
        topic = {"partitions_count": index(partitions)}
    else:
        topic = {"partitions": inputs.rows(partitions, "partitions")}
    return ask("/v1/keyless-distributions", {"rule": rule, **topic, **fields}, output)


def co_partitioning(topics: Rows, **fields: Any) -> Answer:
    """Whether topics can be joined by key, and what must change if not: the answer of ``POST /v1/co-partitionings``.

    topics : rows with ``topic_name``, ``partitions_count``, ``partitioner``, ``key_format``
    Raises Rejected, TypeError.

    >>> co_partitioning([{"partitions_count": 12}, {"partitions_count": 6}])["joinable"]
    False
    """
    return cast("Answer", ask("/v1/co-partitionings", {"topics": inputs.rows(topics, "topics"), **fields}, "dict"))


def coordinator(group_id: str | None = None, *, explain: bool = False, **fields: Any) -> Answer:
    """The partition that coordinates a group or a transactional id: the answer of ``POST /v1/coordinators``.

    explain : also answer how it was computed, as with ``?explain=true``
    fields : the other fields of the endpoint: ``transactional_id``, ``share_partition``, ``partitions_count``
    Raises Rejected.

    >>> coordinator("billing")["partition_id"]
    9
    """
    return cast("Answer", ask("/v1/coordinators", {"group_id": group_id, **fields}, "dict", explain=explain))


def decode(
    kind: str,
    bytes: bytes | None = None,  # noqa: A002 - as for ``plan``
    *,
    key: bytes | None = None,
    value: bytes | None = None,
    **fields: Any,
) -> Answer:
    """The fields of captured bytes of clients and coordinators: the answer of ``POST /v1/decodings``.

    kind : "offsets", "subscription", "assignment" … (see openapi.yaml)
    bytes : those that are no record; key, value : those of a record; a value of None is a tombstone
    fields : the other fields of the endpoint, such as ``records``
    Raises Rejected.

    >>> decode("assignment", bytes.fromhex("00010000000100066f72646572730000000100000002ffffffff"))["decoded"]["partitions"]
    [{'topic': 'orders', 'partition_id': 2}]
    """
    captured = {"bytes_base64": inputs.base64(bytes, "bytes"), "key_base64": inputs.base64(key, "key")}
    body: dict[str, Any] = {name: text for name, text in captured.items() if text is not None}
    if key is not None or value is not None:
        body["value_base64"] = inputs.base64(value, "value")
    return cast("Answer", ask_exactly("/v1/decodings", {"kind": kind, **body, **fields}, "dict"))


def assign(
    topics: Mapping[str, int] | Rows,
    members: int | Rows | Iterable[str],
    assignor: str | None = None,
    *,
    owned_partitions: Rows | None = None,
    explain: bool = False,
    frontier: bool = False,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Assign partitions to the members of a group, as ``POST /v1/group-assignments`` does.

    topics : topic → partition count, or rows with ``topic_name`` and ``partitions_count``
    members : a number of members, their ids, or rows with ``member_id`` and the other fields of a member
    assignor : one of ``assignors()``; default: that of the protocol, ``range`` for classic groups
    owned_partitions : rows with ``topic_name``, ``partition_id``, ``member_id``, such as the table of an earlier answer
    explain : also answer how it was computed, as with ``?explain=true``
    frontier : for ``balanced``: also answer what fewer moves achieve, as with ``?frontier=true``
    output : "dict" is the answer; "arrow" and "pandas" its table: ``topic_name``, ``partition_id``, ``member_id``, or the
        frontier
    fields : the other fields of the endpoint, such as ``group_protocol``, ``compare`` and ``max_moves``
    Raises Rejected, TypeError.

    >>> assign({"orders": 7}, 3)["member_load"]["counts"]
    [3, 2, 2]
    """
    group = {"topics": inputs.group_topics(topics), "members": inputs.group_members(members, owned_partitions)}
    return ask("/v1/group-assignments", {"assignor": assignor, **group, **fields}, output, explain=explain, frontier=frontier)


def assign_connect(
    rounds: Rows, assignor: str = "sessioned", *, explain: bool = False, output: Output = "dict", **fields: Any
) -> Any:
    """What the leader of a Kafka Connect group assigns: the answer of ``POST /v1/connect-assignments``.

    rounds : rows with ``connectors``, ``workers``, ``at_ms`` …; assignor : ``sessioned``, ``compatible`` or ``eager``
    explain : also answer how it was computed, as with ``?explain=true``
    output : "dict" is the answer; "arrow" and "pandas" its table of what workers are to start and stop
    fields : the other fields of the endpoint, such as ``follow_ups`` and ``leader_states``
    Raises Rejected, TypeError.

    >>> connectors = [{"connector_name": "jdbc", "tasks_count": 2}]
    >>> answer = assign_connect([{"connectors": connectors, "workers": [{"member_id": "w1"}, {"member_id": "w2"}]}])
    >>> [worker["connectors"] for worker in answer["workers"]]
    [['jdbc'], []]
    """
    question = {"assignor": assignor, "rounds": inputs.rows(rounds, "rounds"), **fields}
    return ask("/v1/connect-assignments", question, output, explain=explain)


def assign_streams(
    subtopologies: Rows, members: Rows | None = None, assignor: str | None = None, *, output: Output = "dict", **fields: Any
) -> Any:
    """Which member of a Kafka Streams group runs which tasks: the answer of ``POST /v1/streams-assignments``.

    subtopologies : rows with ``subtopology_id``, ``tasks_count``, ``stateful``
    members : rows with ``member_id``, ``process_id``, ``active_tasks``, ``standby_tasks``; a classic group has ``clients``
    assignor : default: that of the protocol
    output : "dict" is the answer; "arrow" and "pandas" its table of tasks
    fields : the other fields of the endpoint, such as ``num_standby_replicas``
    Raises Rejected, TypeError.

    >>> members = [{"member_id": "m1", "process_id": "p1"}, {"member_id": "m2", "process_id": "p2"}]
    >>> assign_streams([{"subtopology_id": "0", "tasks_count": 4}], members)["member_load"]["active_tasks"]["counts"]
    [2, 2]
    """
    given = None if members is None else inputs.rows(members, "members")
    rows = {"subtopologies": inputs.rows(subtopologies, "subtopologies"), "members": given}
    return ask("/v1/streams-assignments", {"assignor": assignor, **rows, **fields}, output)


def member_counts(
    topics: Mapping[str, int] | Rows,
    members: int | Rows | Iterable[str],
    assignor: str | None = None,
    *,
    members_counts: Sequence[int] | None = None,
    owned_partitions: Rows | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """How a group would do with each number of members: the answer of ``POST /v1/member-count-plans``.

    topics, members, assignor, owned_partitions : as for ``assign``: the current members and, optionally, the ``lag`` of topics
    members_counts : the numbers to plan; default: from 1 to the number of partitions
    output : "dict" is the answer; "arrow" and "pandas" its table, a row for each assignor and number of members
    fields : the other fields of the endpoint, such as ``consumption_rate``, ``limits``, ``threads_per_pod`` and ``keda``
    Raises Rejected, TypeError.

    >>> member_counts({"orders": 24}, 10)["worth_using"]
    [1, 2, 3, 4, 5, 6, 8, 12, 24]
    """
    group = {"topics": inputs.group_topics(topics), "members": inputs.group_members(members, owned_partitions)}
    return ask("/v1/member-count-plans", {"assignor": assignor, **group, "members_counts": members_counts, **fields}, output)


def rebalances(
    topics: Mapping[str, int] | Rows,
    members: int | Rows | Iterable[str],
    events: Rows = (),
    assignor: str | None = None,
    *,
    owned_partitions: Rows | None = None,
    explain: bool = False,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Every rebalance of a group to which events happen: the answer of ``POST /v1/group-rebalances``.

    topics, members, assignor, owned_partitions : as for ``assign``; without ``owned_partitions`` the group forms at 0 ms
    events : rows with ``at_ms``, ``type`` and the fields of that type (see docs/groups.md)
    explain : also answer how it was computed, as with ``?explain=true``
    output : "dict" is the answer; "arrow" and "pandas" its table of rebalances
    fields : the other fields of the endpoint, such as ``group_protocol``, ``timing`` and ``compare``
    Raises Rejected, TypeError.

    >>> events = [{"at_ms": 60_000, "type": "member_crashes", "member_id": "member-1"}]
    >>> rebalances({"orders": 6}, 3, events, "cooperative-sticky")["totals"]["most_longest_idle_ms"]
    51500
    """
    group = {"topics": inputs.group_topics(topics), "members": inputs.group_members(members, owned_partitions)}
    question = {"assignor": assignor, **group, "events": inputs.rows(events, "events"), **fields}
    return ask("/v1/group-rebalances", question, output, explain=explain)


def place(
    brokers: int | Rows | None = None,
    partitions_count: int | None = None,
    replication_factor: int | None = None,
    placer: str = "striped",
    *,
    racks: int | None = None,
    explain: bool = False,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Place the replicas of a topic on brokers, as ``POST /v1/replica-placements`` does.

    brokers : a number of brokers (with ids from 0), or rows with ``broker_id``, ``rack_id``, ``fenced``
    placer : one of ``placers()``
    racks : with a number of brokers: how many racks they are on, in turn
    explain : also answer how it was computed, as with ``?explain=true``
    output : "dict" is the answer; "arrow" and "pandas" its table: ``topic_name``, ``partition_id``, ``replicas``
    fields : the other fields of the endpoint, such as ``random_seed`` and ``topic_name``, and instead of the first three
        arguments those of its other forms: ``topics``, ``operations``, ``topics_to_move``
    Raises Rejected, TypeError.

    >>> place(6, 3, 2, racks=3, random_seed=7, output="arrow").column("replicas").to_pylist()
    [[4, 5], [2, 0], [3, 1]]
    """
    topic = {"partitions_count": partitions_count, "replication_factor": replication_factor}
    cluster = None if brokers is None else inputs.brokers(brokers, racks)
    question = {"placer": placer, **topic, "brokers": cluster, **fields}
    return ask("/v1/replica-placements", question, output, explain=explain)


def audit(
    brokers: int | Rows,
    placements: Sequence[Sequence[int]] | Rows,
    placer: str = "striped",
    *,
    racks: int | None = None,
    output: Output = "dict",
    **fields: Any,
) -> Any:
    """Whether a placer could have placed a topic this way, and how even that is: the answer of ``POST /v1/placement-audits``.

    brokers, racks : as for ``place``
    placements : the brokers of partition 0, of partition 1 …, the leader first; or rows with ``partition_id`` and ``replicas``
    output : "dict" is the answer; "arrow" and "pandas" its table, a row for each measure of the skew
    fields : the other fields of the endpoint, such as ``additions``
    Raises Rejected, TypeError.

    >>> audit(3, [[0, 1], [1, 2], [0, 2]])["possible"]
    False
    """
    question = {"placer": placer, "brokers": inputs.brokers(brokers, racks), "placements": inputs.placements(placements)}
    return ask("/v1/placement-audits", {**question, **fields}, output)


def check(brokers: int | Rows, topics: Topics, *, output: Output = "dict", **fields: Any) -> Any:
    """Which partitions are at risk: the answer of ``POST /v1/placement-checks``.

    brokers, topics : as for ``reassign``; rows of topics may say who leads, and which replicas are in sync
    output : "dict" is the answer; "arrow" and "pandas" its table, a row for each partition of each finding
    Raises Rejected, TypeError.

    >>> brokers = [{"broker_id": i, "rack_id": "aab"[i]} for i in range(3)]
    >>> check(brokers, {"orders": [[0, 2], [0, 1]]})["conclusion"]
    '1 of 2 partitions is not rack-safe: orders 1. Which replicas are in sync is not known.'
    """
    question = {"brokers": inputs.brokers(brokers), "topics": inputs.placed_topics(topics)}
    return ask("/v1/placement-checks", {**question, **fields}, output)


def reassign(
    brokers: int | Rows, topics: Topics | None = None, *, frontier: bool = False, output: Output = "dict", **fields: Any
) -> Any:
    """The plan that moves replicas to these brokers with the fewest copies: the answer of ``POST /v1/reassignments``.

    brokers : the cluster as it should be: a number of brokers, or rows with ``broker_id``, ``rack_id`` and other fields
    topics : where the replicas are: topic → the brokers of its partitions 0, 1, …; the table of ``place``, perhaps with
        ``partition_bytes``; or rows of topics; None: the field ``reassignment`` says so
    frontier : also answer how even the cluster can be with each number of copies, as with ``?frontier=true``
    output : "dict" is the answer; "arrow" and "pandas" its table of moves, or the frontier
    fields : the other fields of the endpoint, such as ``objective``, ``max_moves`` and ``limits``
    Raises Rejected, whose ``problem`` names the conflicting rules if no placement keeps all of them; TypeError.

    >>> answer = reassign(3, {"orders": [[0, 1], [0, 1], [0, 1]]}, objective="even")
    >>> answer["moves"]["replicas"], answer["after"]["broker_load"]["replicas"]["counts"]
    (2, [2, 2, 2])
    """
    placed = None if topics is None else inputs.placed_topics(topics)
    question = {"brokers": inputs.brokers(brokers), "topics": placed, **fields}
    return ask("/v1/reassignments", question, output, frontier=frontier)


def log_dirs(brokers: Rows, topics: Topics, *, output: Output = "dict", **fields: Any) -> Any:
    """Which replica moves to which log directory of its broker: the answer of ``POST /v1/log-dir-plans``.

    brokers : rows with ``broker_id`` and ``log_dirs``, as the list ``log_dirs`` of a snapshot has them
    topics : where the replicas are, as for ``reassign``
    output : "dict" is the answer; "arrow" and "pandas" its table of moves
    fields : the other fields of the endpoint, such as ``objective``, ``tolerance`` and ``disk_threshold``
    Raises Rejected, whose ``problem`` names the conflicting rules if the directories cannot hold the replicas; TypeError.

    >>> replicas = [{"topic_name": "orders", "partition_ids": [0, 1], "partition_bytes": [300, 200]}]
    >>> dirs = [{"log_dir": "/a", "replicas": replicas}, {"log_dir": "/b", "replicas": []}]
    >>> answer = log_dirs([{"broker_id": 0, "log_dirs": dirs}], {"orders": [[0, 1], [1, 0]]}, objective="even")
    >>> answer["reassignment"]["partitions"]
    [{'topic': 'orders', 'partition': 1, 'replicas': [1, 0], 'log_dirs': ['any', '/b']}]
    """
    question = {"brokers": inputs.rows(brokers, "brokers"), "topics": inputs.placed_topics(topics), **fields}
    return ask("/v1/log-dir-plans", question, output)


def read(*texts: str, bodies: bool = False) -> Any:
    r"""What texts of one cluster describe: the answer of ``POST /v1/descriptions``.

    texts : what Kafka's tools and others print, snapshots, logs; later ones complete earlier ones
    bodies : also make the request bodies that they suffice for
    Raises Rejected for a text of which nothing is read.

    >>> read("broker,rack\n1,a\n2,b")["conclusion"]
    'Read 2 brokers.'
    """
    return ask("/v1/descriptions", {"texts": texts}, "dict", bodies=bodies)


def history(group_id: str, *texts: str, output: Output = "dict", **fields: Any) -> Any:
    """What happened to a group: the answer of ``POST /v1/group-histories``.

    texts : logs of group coordinators, and records of ``__consumer_offsets`` as Kafka's tools print them
    output : "dict" is the answer; "arrow" and "pandas" its table of rebalances
    fields : the other fields of the endpoint, such as ``names`` of the texts
    Raises Rejected for texts that tell nothing of the group.

    >>> history("orders", "Group orders with generation 8 is now empty.")["rebalances"][0]["number"]
    8
    """
    return ask("/v1/group-histories", {"group_id": group_id, "texts": texts, **fields}, output)


def lint(reassignment: Mapping[str, Any], brokers: int | Rows, topics: Topics, *, output: Output = "dict", **fields: Any) -> Any:
    """What is wrong with a reassignment: the answer of ``POST /v1/reassignments:lint``.

    reassignment : the content of the JSON file of kafka-reassign-partitions
    brokers, topics : as for ``reassign``
    output : "dict" is the answer; "arrow" and "pandas" its table of findings
    Raises Rejected, TypeError.

    >>> plan = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [0, 5]}]}
    >>> lint(plan, 3, {"orders": [[0, 1]]})["findings"][0]["rule"]
    'unknown-broker'
    """
    if not isinstance(reassignment, Mapping):
        raise TypeError("reassignment must be a dict, the content of the JSON file.")
    question = {"brokers": inputs.brokers(brokers), "topics": inputs.placed_topics(topics), "reassignment": dict(reassignment)}
    return ask("/v1/reassignments:lint", {**question, **fields}, output)


def partitioners() -> Answer:
    """All partitioners, plug-ins included: the answer of ``GET /v1/partitioners``.

    >>> "sarama" in [each["partitioner"] for each in partitioners()["partitioners"]]
    True
    """
    return Answer(loads(dumps({"partitioners": catalogue.partitioners()})), "/v1/partitioners")


def assignors() -> Answer:
    """All assignors, plug-ins included: the answer of ``GET /v1/assignors``.

    >>> [each["assignor"] for each in assignors()["assignors"] if each["group_protocol"] == "consumer"]
    ['uniform', 'range', 'balanced']
    """
    return Answer(loads(dumps({"assignors": catalogue.assignors()})), "/v1/assignors")


def placers() -> Answer:
    """All placers, plug-ins included: the answer of ``GET /v1/placers``.

    >>> "striped" in [each["placer"] for each in placers()["placers"]]
    True
    """
    return Answer(loads(dumps({"placers": catalogue.placers()})), "/v1/placers")
