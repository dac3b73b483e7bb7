"""The real code of other tools that reassign: topicmappr's ``rebuild`` and Cruise Control's goals.

``build.sh`` builds them. Where they are not built, the figures of ``figures.json`` stand in for what is the same everywhere.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from service.planner.reassignments.model import Brokers, Placements

FIGURES: Final = Path(__file__).with_name("figures.json")
BUILT: Final = Path(__file__).parents[2] / "build" / "peers"


class Outcome(NamedTuple):
    """What a plan does. fullest : the replicas of the fullest broker; seconds : CPU time of the search alone"""

    copies: int
    fullest: int
    seconds: float

    @classmethod
    def of(cls, brokers: Brokers, placements: Placements, after: Any, seconds: float) -> Outcome:
        """Of a placement. after : int[partitions, 3], the brokers of each"""
        before = placements.replicas.values.reshape(-1, 3)
        copies = np.count_nonzero(~(after[:, :, None] == before[:, None, :]).any(axis=2))
        return cls(int(copies), int(np.bincount(after.ravel(), minlength=len(brokers))[brokers.usable].max()), seconds)


def ask(tool: str, brokers: Brokers, placements: Placements) -> Outcome:
    """What a tool, "topicmappr" or "cruise-control", makes of a question with three replicas of each partition.

    Brokers without replicas are new. topicmappr fills these only where it places everything again.
    """
    rows, racks = placements.replicas.values.reshape(-1, 3), brokers.racks().tolist()
    new = np.bincount(rows.ravel(), minlength=len(brokers)) == 0
    question = {
        "brokers": [
            {"id": b, "rack": str(racks[b]), "leaves": bool(brokers.draining[b]), "new": bool(new[b])}
            for b in range(len(brokers))
        ],
        "partitions": rows.tolist(),
        "force": bool(new.any()),
    }
    if tool == "topicmappr":
        command = [str(BUILT / tool)]
    else:
        command = ["java", "-cp", f"{BUILT / 'classes'}:{(BUILT / 'class-path').read_text('ascii').strip()}", "CruiseControl"]
    asked = json.dumps(question) + "\n"
    done = subprocess.run(command, input=asked * (2 if len(rows) <= 10_000 else 1), capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])  # a JVM is faster the second time
    return Outcome.of(brokers, placements, np.array(answer["partitions"]), answer["seconds"])
