"""``POST /v1/group-rebalances``: a timeline of group events → every rebalance they cause."""

from dataclasses import replace
from typing import Final

from flask import Response

from service.api.rebalances.extent import Extent, check_cells
from service.api.rebalances.request import GroupRebalancesSchema, RebalancesQuestion
from service.api.rebalances.response import GroupRebalancesAnswerSchema, answer
from service.core.errors import InvalidQuestion
from service.core.timelines.model import Outcome, Rebalance, Timeline
from service.core.timelines.simulation import Simulation
from service.web.blueprint import Blueprint
from service.web.context import check_time, decision, lengthen, settings
from service.web.schemas import ExplainSchema

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
    if question.is_long:
        lengthen()
    report = decision("rebalance", f"{timeline.group_protocol}-{timeline.assignor.name}")
    report.sees(partitions=int(timeline.world.counts.sum()), members=len(timeline.group))
    with report.compute():
        tick = _Meter(question.extent)
        outcome = _simulated(timeline, tick)
        comparisons = [_simulated(way, tick) for way in question.compared]
        slow = [_simulated(way, tick) for way in question.slow]
        report.gives(outcome.totals.worst_skew, subject=question.group_id, moved=outcome.totals.moved)
    with report.render():
        return answer(question, outcome, comparisons, slow)


UNEXPECTED: Final = 2
"""How many times as much a simulation may spend as could be expected before it began."""


class _Meter:
    """What is looked at before each step: the time, and what the simulations of a request have spent."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.rebalances: list[Rebalance] = []
        self.spent = self.before = 0

    def begin(self, rebalances: list[Rebalance]) -> None:
        """Another way to run the group. rebalances : grows while it is simulated"""
        self.rebalances, self.before = rebalances, self.before + self.spent

    def __call__(self, spent: int) -> None:
        """Raises ServiceUnavailable, LimitExceeded, and InvalidQuestion for a group that never comes to rest."""
        check_time()
        self.spent = spent
        check_cells((self.before + spent) // UNEXPECTED, self.extent.rows)
        if len(self.rebalances) > self.extent.most_rebalances():
            raise InvalidQuestion(f"The group does not come to rest within {len(self.rebalances)} rebalances.", "events")


def _simulated(timeline: Timeline, meter: _Meter) -> Outcome:
    """A timeline's outcome, within the limits of a request."""
    simulation = Simulation(timeline)
    meter.begin(simulation.course.rebalances)
    simulation.run(meter)
    return simulation.outcome()
