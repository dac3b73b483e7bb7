"""The families of questions: one record each, which app, scopes, command line, library, warm-up and long test runs read."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Family:
    """A family of questions.

    name : of its folder in ``api``
    path : of its operation
    scope : that a caller's token must have
    """

    name: str
    path: str
    scope: str


FAMILIES: Final = (
    Family("partitions", "/v1/partitions", "partitions"),
    Family("comparisons", "/v1/partitioner-comparisons", "partitions"),
    Family("fingerprints", "/v1/partitioner-fingerprints", "partitions"),
    Family("partition_counts", "/v1/partition-count-plans", "partitions"),
    Family("keyless", "/v1/keyless-distributions", "partitions"),
    Family("co_partitionings", "/v1/co-partitionings", "partitions"),
    Family("coordinators", "/v1/coordinators", "partitions"),
    Family("decodings", "/v1/decodings", "decodings"),
    Family("descriptions", "/v1/descriptions", "decodings"),
    Family("key_traces", "/v1/key-traces", "decodings"),
    Family("groups", "/v1/group-assignments", "groups"),
    Family("connect", "/v1/connect-assignments", "groups"),
    Family("streams", "/v1/streams-assignments", "groups"),
    Family("member_counts", "/v1/member-count-plans", "groups"),
    Family("rebalances", "/v1/group-rebalances", "groups"),
    Family("histories", "/v1/group-histories", "groups"),
    Family("placements", "/v1/replica-placements", "placements"),
    Family("placement_audits", "/v1/placement-audits", "placements"),
    Family("placement_checks", "/v1/placement-checks", "placements"),
    Family("reassignments", "/v1/reassignments", "placements"),
    Family("log_dirs", "/v1/log-dir-plans", "placements"),
    Family("reassignment_lints", "/v1/reassignments:lint", "placements"),
)

BY_PATH: Final = {family.path: family for family in FAMILIES}
