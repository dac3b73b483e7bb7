"""A group of the streams protocol, whose members are heartbeats of this test's own: Kafka Streams itself brings RocksDB along."""

from __future__ import annotations

import sys
import zipfile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from kafka.protocol.api_message import ApiMessage

from service.live.client import ClusterClient
from service.live.cluster_metrics import Bounds, measure
from service.live.snapshot import SnapshotExtent, take_snapshot
from service.live.verification import check_groups
from tests.live.clients import eventually
from tests.support.jvm import KAFKA, fetch

if TYPE_CHECKING:
    from pathlib import Path

    from tests.live.conftest import SecuredBroker

pytestmark = pytest.mark.slow
GROUP = "wordcount"


@pytest.fixture
def heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The request, defined by the file in Kafka's own jar."""
    folder = tmp_path / "heartbeats"
    folder.mkdir()
    (folder / "__init__.py").touch()
    clients = next(jar for jar in fetch(f"org.apache.kafka:kafka-clients:{KAFKA}") if "kafka-clients" in jar)
    with zipfile.ZipFile(clients) as jar:
        for name in ("StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse"):
            (folder / f"{name}.json").write_bytes(jar.read(f"common/message/{name}.json"))
    monkeypatch.syspath_prepend(str(tmp_path))
    classes = [
        type(ApiMessage)(name, (ApiMessage,), {"__slots__": ()}, load_json="heartbeats")
        for name in ("StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse")
    ]
    yield classes[0]
    sys.modules.pop("heartbeats", None)


class Member:
    """A member: what it tells the coordinator, and what it is told."""

    def __init__(self, request: Any, client: ClusterClient, topics: list[str]) -> None:
        self.request, self.client, self.epoch, self.tasks = request, client, 0, None
        self.names = {"group_id": GROUP, "member_id": str(uuid4()), "endpoint_information_epoch": -1}
        source = {"subtopology_id": "0", "source_topics": topics, "source_topic_regex": [], "repartition_sink_topics": []}
        more = {"state_changelog_topics": [], "repartition_source_topics": [], "copartition_groups": []}
        self.topology = request.Topology(epoch=0, subtopologies=[request.Topology.Subtopology(**source, **more)])

    def beat(self) -> None:
        """One heartbeat: the first with everything, the next ones with new tasks if there are any."""
        fields: dict[str, Any] = {}
        if self.epoch == 0:
            fields = {"rebalance_timeout_ms": 1000, "topology": self.topology, "process_id": self.names["member_id"]}
            fields |= {"client_tags": [], "active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        elif self.tasks is not None:
            fields = {"active_tasks": self.tasks, "standby_tasks": [], "warmup_tasks": []}
        (answer,) = self.client.ask([(1, self.request(**self.names, member_epoch=self.epoch, **fields))])
        assert not isinstance(answer, Exception), answer
        assert answer.error_code == 0, answer.error_message
        self.epoch, self.tasks = answer.member_epoch, None
        if answer.active_tasks is not None and not fields.get("active_tasks"):
            self.tasks = [
                self.request.TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions)
                for each in answer.active_tasks
            ]


def test_tasks_are_partitions(secured: SecuredBroker, heartbeat: Any) -> None:
    """The members' tasks, and the partitions that these read; the group is counted, and not compared."""
    topics = sorted((secured.plain.topic(4), secured.plain.topic(4)))
    secured.plain.load_coordinator(GROUP)
    with ClusterClient(secured.plain.bootstrap, {}) as client:
        members = [Member(heartbeat, client, topics) for _ in range(2)]

        def look() -> dict[str, Any]:
            for member in members:
                member.beat()
            return take_snapshot(client, SnapshotExtent(tuple(topics), (GROUP,)))

        def is_settled(snapshot: dict[str, Any]) -> bool:
            (group,) = snapshot["groups"]
            return group["group_state"] == "Stable" and all(member["assigned_partitions"] for member in group["members"])

        snapshot = eventually(look, is_settled)
    (group,) = snapshot["groups"]
    assert (group["group_protocol"], group["group_epoch"]) == ("streams", group["assignment_epoch"])
    assert group["subtopologies"] == [{"subtopology_id": "0", "source_topic_names": topics, "changelog_topic_names": []}]
    ids = []
    for member in group["members"]:
        (task,) = member["tasks"]["active"]
        assert member["tasks"] == member["target_tasks"] == {"active": [task], "standby": [], "warmup": []}
        assert member["topic_names"] == topics
        assert (
            member["owned_partitions"]
            == [{"topic_name": topic, "partition_ids": task["partition_ids"]} for topic in topics]
            == member["assigned_partitions"]
        )
        ids += task["partition_ids"]
    assert sorted(ids) == [0, 1, 2, 3]
    (finding,) = check_groups(snapshot, ())
    assert (finding.verdict, finding.reason) == ("not_checked", "Groups of the streams protocol are not checked.")
    samples = measure(snapshot, None, 0.0, Bounds(0, 1, 0))
    assert samples["partition_allocator_cluster_group_members", (GROUP,)] == 2
    assert samples["partition_allocator_cluster_group_skew_ratio", (GROUP, "partitions")] == 1
    assert ("partition_allocator_cluster_group_differs", (GROUP,)) not in samples
