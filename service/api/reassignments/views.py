"""``POST /v1/reassignments``: the current placement → the plan that gets to a better one."""

from flask import Response

from service.api.reassignments.request import Question, ReassignmentQuestionSchema
from service.api.reassignments.response import ReassignmentAnswerSchema, document
from service.core.reassignments.batches.plan import plan_in_batches
from service.core.reassignments.loads import before_and_after
from service.core.reassignments.moves import moves_of
from service.decisions.reassignments.tables import moves_table
from service.web import responses
from service.web.blueprint import Blueprint
from service.web.context import check_time, decision
from service.web.tables import JSON

blueprint = Blueprint("reassignments", __name__, description="current placement → a plan to a better one")


EXAMPLE = {
    "objective": "fewest-moves",
    "racks": "strict",
    "brokers": [
        {"broker_id": 0, "rack_id": "a"},
        {"broker_id": 1, "rack_id": "b"},
        {"broker_id": 2, "rack_id": "a", "draining": True},
    ],
    "topics": [
        {
            "topic_name": "orders",
            "placements": [{"partition_id": 0, "replicas": [2, 1]}, {"partition_id": 1, "replicas": [1, 0]}],
            "partition_bytes": [1_000_000_000, 2_000_000_000],
        }
    ],
    "limits": {"moves_per_broker": 5, "throttle_bytes_per_second": 50_000_000},
}


@blueprint.post("/v1/reassignments")
@blueprint.arguments(ReassignmentQuestionSchema, example=EXAMPLE)
@blueprint.response(200, ReassignmentAnswerSchema)
@blueprint.doc(operationId="planReassignment")
def plan_reassignment(question: Question) -> Response:
    """Plan a reassignment: with the fewest copies or to the evenest load, in batches, each with its rollback.

    The `ETag` is the `plan_id`. If no placement keeps all rules, the answer is a 422 of type `infeasible` with the rules that
    `clash` and `remedies`. As an Arrow stream (`Accept: application/vnd.apache.arrow.stream`) or `text/csv` the answer is the
    table of moves: `topic_name`, `partition_id`, `from`, `to`, `reason`, `batch`.
    """
    brokers, placements, goal = question.brokers, question.placements, question.goal
    report = decision("reassignment", goal.objective)
    with report.compute():
        result, batches = plan_in_batches(brokers, placements, goal, question.limits, check_time)
        check_time()
        moves = moves_of(brokers, placements, goal, result.replicas, batches)
        check_time()
        report.sees(partitions=len(placements), brokers=len(brokers))
        loads = before_and_after(brokers, placements, result.replicas)
        report.gives(loads[1].spread().skew)
        timing = batches.timing(question.pace, question.throttle, question.seconds)
    with report.render():
        media_type = responses.preferred()
        if media_type == JSON:
            response = responses.answer(document(question, result, batches, moves, loads, timing))
        else:
            response = responses.table(moves_table(brokers, placements, moves), media_type)
        response.set_etag(question.plan_id())
        return response
