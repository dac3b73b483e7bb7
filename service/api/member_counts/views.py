"""Plan the number of members of a group: for each, the worst load, what is idle, what moves, and the standstill.

Every number is planned under the group's own assignor and under `balanced`. `worth_using` has those that gain: for 24
partitions 9, 10 and 11 members are no better than 8. `recommended` is the smallest within the limits, and `policies` has what
KEDA would choose for the same lag. `text/csv` and Arrow answers have one row for each assignor and number of members.
"""

from service.api.member_counts.document import FORM
from service.web.blueprint import Blueprint

blueprint = Blueprint("member-count-plans", __name__, description="a group → how many members it needs")

EXAMPLE = {
    "assignor": "cooperative-sticky",
    "topics": [
        {
            "topic_name": "orders",
            "partitions_count": 6,
            "lag": {
                "committed_offsets": [500_000, 700_000, 640_000, 660_000, 710_000, 690_000],
                "log_end_offsets": [590_000, 740_000, 670_000, 690_000, 730_000, 700_000],
            },
        }
    ],
    "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    "consumption_rate": 2_000,
    "limits": {"max_lag_seconds": 60},
    "keda": {"lag_threshold": 50_000},
}

blueprint.decision("/v1/member-count-plans", FORM, "planMemberCounts", "member_count_plan", __doc__, example=EXAMPLE)
