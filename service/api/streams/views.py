"""Assign a Kafka Streams group's active and standby tasks to its members.

As `text/csv` or an Arrow stream the answer is its table: `subtopology_id`, `task_id`, `member_id`, `role` (active, standby).
"""

from service.api.streams.document import FORM
from service.web.blueprint import Blueprint

blueprint = Blueprint("streams-assignments", __name__, description="tasks → Streams' members")

EXAMPLE = {
    "group_protocol": "streams",
    "assignor": "sticky",
    "num_standby_replicas": 1,
    "subtopologies": [
        {"subtopology_id": "0", "tasks_count": 4, "stateful": True},
        {"subtopology_id": "1", "tasks_count": 2, "stateful": False},
    ],
    "members": [
        {"member_id": "m1", "process_id": "p1", "active_tasks": [{"subtopology_id": "0", "task_ids": [0, 1, 2, 3]}]},
        {"member_id": "m2", "process_id": "p2", "standby_tasks": [{"subtopology_id": "0", "task_ids": [1]}]},
    ],
}
"""m2 has joined."""

blueprint.decision("/v1/streams-assignments", FORM, "assignTasks", "assignment", __doc__, example=EXAMPLE)
