"""Check a reassignment JSON against a cluster.

An `error` is rejected by Kafka or reduces availability, a `warning` is probably not intended, a `note` could be improved.
As `text/csv` or an Arrow stream the answer is the table of findings: `severity`, `rule`, `pointer`, `detail`.
"""

from service.api.reassignment_lints.document import FORM
from service.api.reassignment_lints.schema import EXAMPLE
from service.web.blueprint import Blueprint

blueprint = Blueprint("reassignment-lints", __name__, description="a reassignment JSON → its errors")

blueprint.decision("/v1/reassignments:lint", FORM, "lintReassignment", "lint", __doc__, example=EXAMPLE)
