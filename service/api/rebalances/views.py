"""``POST /v1/group-rebalances``: a timeline of group events → every rebalance they cause."""

from dataclasses import replace
from itertools import count
from typing import Final

from flask import Response

from service.api.rebalances.request import GroupRebalancesSchema, RebalancesQuestion
from service.api.rebalances.response import GroupRebalancesAnswerSchema, answer
from service.core.errors import InvalidQuestion
from service.core.timelines.model import Outcome, Timeline
from service.core.timelines.simulation import Simulation, varied
from service.web.blueprint import Blueprint
from service.web.context import check_time, decision, settings
from service.web.schemas import ExplainSchema

CHECKED_STEPS: Final = 64
"""Steps of a simulation, of at most some milliseconds each, between two checks of the time."""

blueprint = Blueprint("group-rebalances", __name__, description="a timeline of a group → its rebalances")


EXAMPLE = {
    "group_protocol": "classic",
    "assignor": "cooperative-sticky",
    "topics": [{"topic_name": "orders", "partitions_count": 6}],
    "members": [{"member_id": "c1"}, {"member_id": "c2"}],
    "events": [
        {"at_ms": 10_000, "type": "member_joins", "member": {"member_id": "c3"}},
        {"at_ms": 60_000, "type": "member_crashes", "member_id": "c1"},
    ],
}


@blueprint.post("/v1/group-rebalances")
@blueprint.arguments(GroupRebalancesSchema, example=EXAMPLE)
@blueprint.arguments(ExplainSchema, location="query")
@blueprint.response(200, GroupRebalancesAnswerSchema)
@blueprint.doc(operationId="simulateRebalances")
def simulate_rebalances(question: RebalancesQuestion, query: dict[str, bool]) -> Response:
    """Simulate what happens to a group: every rebalance that the events cause, who stands still, and for how long.

    If no member owns anything, the group forms at 0 ms; otherwise it is stable then, with what its members own. As `text/csv` or
    an Arrow stream the answer is the table of rebalances, or with `compare` that of the comparisons.
    """
    timeline = question.timeline
    if query["explain"]:
        timeline = replace(timeline, most_explained=settings().max_explained)
    report = decision("rebalance", f"{timeline.group_protocol}-{timeline.assignor.name}")
    report.sees(partitions=int(timeline.world.counts.sum()), members=len(timeline.group))
    with report.compute():
        outcome = _simulated(timeline, question.most_rebalances)
        comparisons = [_simulated(varied(timeline, variant), question.most_rebalances) for variant in question.variants]
        report.gives(outcome.totals.worst_skew, subject=question.group_id, moved=outcome.totals.moved)
    with report.render():
        return answer(question, outcome, comparisons)


def _simulated(timeline: Timeline, most_rebalances: int) -> Outcome:
    """A timeline's outcome, within the time of a request. Raises InvalidQuestion for a group that never comes to rest."""
    simulation = Simulation(timeline)
    steps = count(1)

    def tick() -> None:
        if next(steps) % CHECKED_STEPS == 0:
            check_time()
        if len(simulation.group.rebalances) > most_rebalances:
            raise InvalidQuestion(f"The group does not come to rest within {most_rebalances} rebalances.", "events")

    simulation.run(tick)
    return simulation.outcome()
