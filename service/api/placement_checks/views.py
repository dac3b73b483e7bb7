"""Check which partitions of a cluster are at risk.

`conclusion` names the partitions without a leader, under-replicated, at or under `min.insync.replicas`, or not rack-safe: on
fewer racks than their replicas allow. What is not known is said, and is neither safe nor at risk. As `text/csv` or an Arrow
stream the answer is the table of findings, a row for each partition: `severity`, `rule`, `topic_name`, `detail`, `partition_id`.
"""

from service.api.placement_checks.document import FORM
from service.api.placement_checks.schema import EXAMPLE
from service.web.blueprint import Blueprint

blueprint = Blueprint("placement-checks", __name__, description="a cluster → partitions at risk")

blueprint.decision("/v1/placement-checks", FORM, "checkPlacement", "check", __doc__, example=EXAMPLE)
