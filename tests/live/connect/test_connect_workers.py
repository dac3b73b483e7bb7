"""Groups of Kafka Connect's real workers at a real broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from service.cli import main
from service.live.verification import check_groups
from tests.live.clients import eventually
from tests.live.test_snapshot import look
from tests.support.jvm import KAFKA, connect_jars
from tests.support.task_groups import Program

if TYPE_CHECKING:
    from tests.live.conftest import SecuredBroker

pytestmark = pytest.mark.slow
CONNECTORS = [{"connector_name": name, "tasks_count": count} for name, count in (("jdbc", 7), ("s3", 3), ("idle", 0))]


def test_workers_that_join_one_after_the_other(secured: SecuredBroker) -> None:
    """What they run is known after each rebalance, and as their leader has it."""
    broker = secured.plain
    program = Program("connect/ConnectGroup.java", *connect_jars(KAFKA))
    protocols = ("eager", "compatible", "sessioned")
    try:
        for count in (1, 2, 3):
            for name in protocols:
                start = {"bootstrap": broker.bootstrap, "group_id": name, "protocol": name, "connectors": CONNECTORS}
                assert program.ask(start) == {}

            def judged(count: int = count) -> tuple[dict[str, Any], set[str]]:
                snapshot = look(broker, *protocols, with_offsets_topic=True)
                sizes = {len(group.get("members", ())) for group in snapshot["groups"]}
                return snapshot, {finding.verdict for finding in check_groups(snapshot, protocols)} if sizes == {count} else set()

            snapshot, _ = eventually(judged, lambda found: found[1] == {"alike"})
            for group in snapshot["groups"]:
                loads = [sum(len(row["task_ids"]) for row in worker["tasks"]) for worker in group["members"]]
                assert (group["group_protocol"], group["assignor"], sum(loads)) == ("connect", group["group_id"], 10)
                assert group["leader"] in {worker["member_id"] for worker in group["members"]}
                assert {worker["assignment"]["leader_id"] for worker in group["members"]} == {group["leader"]}
        groups = [part for name in protocols for part in ("--group", name)]
        result = CliRunner().invoke(main, ["verify", "--bootstrap-server", broker.bootstrap, *groups])
        assert (result.exit_code, json.loads(result.stdout)["totals"]["alike"]) == (0, 3)
    finally:
        program.close()
