"""``POST /v1/placement-audits``: a topic's placement → could its placer have made it?"""

from flask import Response

from service.api.placement_audits.request import EXAMPLE, PlacementAuditQuestion, PlacementAuditSchema
from service.api.placement_audits.response import PlacementAuditAnswerSchema, audit_document, audit_table
from service.core.measures import spread
from service.core.model import PlacementRequest
from service.core.placement_audits.audit import audit
from service.core.placement_audits.evenness import evenness
from service.core.placers.load import load_of
from service.web.blueprint import Blueprint
from service.web.context import decision
from service.web.responses import respond

blueprint = Blueprint("placement-audits", __name__, description="a topic's placement → could its placer have made it?")


@blueprint.post("/v1/placement-audits")
@blueprint.arguments(PlacementAuditSchema, example=EXAMPLE)
@blueprint.response(200, PlacementAuditAnswerSchema)
@blueprint.doc(operationId="auditPlacement")
def audit_placement(question: PlacementAuditQuestion) -> Response:
    """Audit a placement: whether the placer could have made it, by which draws, and how even its placements are.

    If it could not, the answer names the first rule that the placement breaks, and whether partitions may have been added, or
    the topic placed on other brokers. `skew` compares the placement with the best, typical and worst of the placer's draws. As
    `text/csv` or an Arrow stream the answer is a table with a row for each of the four measures of `skew`: `topic_name`,
    `placer`, `possible`, `broken_rule`, `measure`, `actual`, `best`, `typical`, `worst`.
    """
    placer, cluster, placement = question.placer, question.cluster, question.placement
    report = decision("audit", placer.name)
    with report.compute():
        result = audit(placer, cluster, placement, question.first_id, question.additions)
        lengths = placement.lengths()
        factor = int(lengths[0])
        refused = result.broken_rule is not None and result.broken_rule.row is None
        request = PlacementRequest(len(placement), factor, question.first_id)
        even = None if refused or (lengths != factor).any() else evenness(placer, cluster, request)
        load = load_of(cluster, placement)
        report.sees(partitions=len(placement), brokers=len(cluster))
        report.gives(spread(load.replicas).skew, subject=question.topic_name)
    with report.render():
        return respond(lambda: audit_document(question, result, even, load), lambda _: audit_table(question, result, even, load))
