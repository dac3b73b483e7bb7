"""``POST /v1/reassignments:lint``: a reassignment JSON → what is wrong with it."""

from flask import Response

from service.api.reassignment_lints.request import EXAMPLE, LintQuestion, ReassignmentLintSchema
from service.api.reassignment_lints.response import ReassignmentLintAnswerSchema, findings_table, lint_document
from service.core.reassignments.lint import lint
from service.web.blueprint import Blueprint
from service.web.context import check_time, decision
from service.web.responses import respond

blueprint = Blueprint("reassignment-lints", __name__, description="a reassignment JSON → what is wrong with it")


@blueprint.post("/v1/reassignments:lint")
@blueprint.arguments(ReassignmentLintSchema, example=EXAMPLE)
@blueprint.response(200, ReassignmentLintAnswerSchema)
@blueprint.doc(operationId="lintReassignment")
def lint_reassignment(question: LintQuestion) -> Response:
    """Check a reassignment JSON against a cluster.

    An `error` is rejected by Kafka or reduces availability, a `warning` is probably not intended, a `note` could be improved.
    As `text/csv` or an Arrow stream the answer is the table of findings: `severity`, `rule`, `pointer`, `detail`.
    """
    report = decision("lint", "lint")
    with report.compute():
        result = lint(question.brokers, question.placements, question.reassigned, check_time)
        report.sees(partitions=len(question.reassigned.partition_ids), brokers=len(question.brokers))
    with report.render():
        return respond(lambda: lint_document(result), lambda _: findings_table(result))
