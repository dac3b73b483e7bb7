"""Plan moves between the log directories of brokers: to empty a disk, to keep a threshold, or to even disks out.

Replicas stay on their broker; each broker is planned independently. The `ETag` is the `plan_id`. If the directories of a
broker cannot have its replicas, the answer is a 422 of type `infeasible` with the rules that `clash` and `remedies`; if the
search ends without a plan, although there may be one, of type `not-found`. As an Arrow stream
(`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is the table of moves: `topic_name`, `partition_id`,
`broker_id`, `from`, `to`, `bytes`, `reason`, `batch`.
"""

from typing import Final

from service.api.log_dirs.document import FORM
from service.web.blueprint import Blueprint

blueprint = Blueprint("log-dirs", __name__, description="log directories → which replica moves to which disk of its broker")

EXAMPLE: Final = {
    "objective": "fewest-moves",
    "brokers": [
        {
            "broker_id": 1,
            "log_dirs": [
                {
                    "log_dir": "/data/a",
                    "capacity_bytes": 10_000_000_000,
                    "draining": True,
                    "replicas": [
                        {"topic_name": "orders", "partition_ids": [0, 2], "partition_bytes": [2_000_000_000, 1_000_000_000]}
                    ],
                },
                {
                    "log_dir": "/data/b",
                    "capacity_bytes": 10_000_000_000,
                    "replicas": [{"topic_name": "orders", "partition_ids": [1], "partition_bytes": [2_500_000_000]}],
                },
                {"log_dir": "/data/c", "capacity_bytes": 10_000_000_000, "replicas": []},
            ],
        }
    ],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [
                {"partition_id": 0, "replicas": [1, 2]},
                {"partition_id": 1, "replicas": [2, 1]},
                {"partition_id": 2, "replicas": [1, 3]},
            ],
        }
    ],
    "limits": {"throttle_bytes_per_second": 50_000_000},
}

blueprint.decision("/v1/log-dir-plans", FORM, "planLogDirs", "log_dirs", __doc__, example=EXAMPLE)
