"""``POST /v1/reassignments:lint``: a reassignment JSON → its errors."""

from flask import Response

from service.api.reassignment_lints.document import FORM
from service.api.reassignment_lints.schema import EXAMPLE
from service.decisions.reassignment_lints import LintQuestion
from service.web.blueprint import Blueprint
from service.web.deciding import decide

blueprint = Blueprint("reassignment-lints", __name__, description="a reassignment JSON → its errors")


@blueprint.operation("/v1/reassignments:lint", FORM, "lintReassignment", example=EXAMPLE)
def lint_reassignment(question: LintQuestion) -> Response:
    """Check a reassignment JSON against a cluster.

    An `error` is rejected by Kafka or reduces availability, a `warning` is probably not intended, a `note` could be improved.
    As `text/csv` or an Arrow stream the answer is the table of findings: `severity`, `rule`, `pointer`, `detail`.
    """
    return decide("lint", FORM, question)
