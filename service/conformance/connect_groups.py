"""Random groups of Kafka Connect, and what becomes of them."""

from random import Random
from typing import Any

from service.core.documents import Json


def connect_group(random: Random) -> Json:
    """The life of a Connect group: workers come, leave, return, lead; connectors are added, changed and deleted."""
    name = random.choice(("connector-{}", "c{}", "{}-jdbc", "é{}", "😀{}")).format
    member = random.choice(("w{}", "connect-1-{:08x}", "worker-{}-ﬀ")).format
    many = random.random() < 0.1
    connectors = {name(i): random.randrange(40 if many else 9) for i in range(random.randint(1, 40 if many else 6))}
    workers = [member(_number(random, i)) for i in range(random.randint(1, 40 if many else 7))]
    away: list[str] = []
    leader, now = workers[0], 0
    rounds: list[Json] = []
    for i in range(random.randint(1, 12)):
        if i:
            now += random.choice((0, 5, 300, 1_000, 30_000, 60_000, 299_999, 300_000, 400_000))
            for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
                _change(random, connectors, workers, away, name, member)
            if leader not in workers or random.random() < 0.05:
                leader = random.choice(workers)
            if random.random() < 0.1:
                random.shuffle(workers)
        listed = [{"connector_name": each, "tasks_count": count} for each, count in connectors.items()]
        rows = [{"member_id": worker} for worker in workers]
        rounds.append({"at_ms": now, "leader_id": leader, "connectors": listed, "workers": rows})
    return {
        "group_protocol": "connect",
        "assignor": random.choice(("eager", "compatible", "sessioned", "sessioned")),
        "scheduled_rebalance_max_delay_ms": random.choice((300_000, 300_000, 60_000, 0, 1, 40, 1_000 * random.randrange(3_600))),
        "rounds": rounds,
    }


def _number(random: Random, i: int) -> int:
    return i if random.random() < 0.5 else random.randrange(2**32)


def _change(random: Random, connectors: dict[str, int], workers: list[str], away: list[str], name: Any, member: Any) -> None:
    """A worker comes, leaves or comes back (the same process, or another one in its place), or a connector changes."""
    kind = random.choice(("comes", "comes", "leaves", "leaves", "returns", "connector", "connector", "connector"))
    if kind == "leaves" and len(workers) > 1:
        away.append(workers.pop(random.randrange(len(workers))))
    elif kind == "connector":
        some = random.choice([*connectors, name(random.randrange(10**6))])
        connectors[some] = random.randrange(12)
        if random.random() < 0.3:
            del connectors[some]
    elif kind == "comes" or (kind == "returns" and away):
        new = member(random.randrange(2**32)) if kind == "comes" else away.pop() + random.choice(("", "b"))
        if new not in workers:
            workers.append(new)
