"""Random groups to compare assignors on: small, for ties occur there, with all that decides ties; what becomes of classic ones.

Names can have equal hash codes, so that the order of hash tables decides, or stand beyond ASCII. Members claim what they have,
what others have, and what there is not, in several generations.
"""

import base64
from itertools import product
from random import Random
from typing import Any, Final

from service.core.documents import Json

# Random consumer and share groups, such as a group coordinator may hold, and what becomes of them.


def uuid(random: Random, i: int) -> str:
    """A base64 Uuid, another one for every i."""
    raw = random.getrandbits(112).to_bytes(14, "big") + i.to_bytes(2, "big")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def own(random: Random, topics: list[Json], members: list[Json], *, shared: bool) -> None:
    """Give partitions to members, subscribed or not, more to some than to others, in no order."""
    if not members or random.random() < 0.3:
        return
    taken = random.random()
    favoured = random.sample(members, random.randint(1, len(members)))
    for one in topics:
        for partition_id in random.sample(range(one["partitions_count"]), one["partitions_count"]):
            owners: set[str] = set()
            while random.random() < taken:
                member = random.choice(favoured)
                if member["member_id"] not in owners:
                    owners.add(member["member_id"])
                    give(member, one["topic_name"], partition_id)
                if not shared or random.random() < 0.6:
                    break
    if random.random() < 0.1:
        give(random.choice(members), "gone", 0)


def change_of_coordinator(random: Random, body: Json, assignments: list[Json]) -> Json:
    """The next state of a group: its members have what they were assigned, and something has happened."""
    had = {one["member_id"]: one["partitions"] for one in assignments}
    topics = [dict(one) for one in body["topics"]]
    members = [{**member, "owned_partitions": had[member["member_id"]]} for member in body["members"]]
    event = random.choice(("leave", "join", "grow", "topic", "drop", "subscribe"))
    names = [one["topic_name"] for one in topics]
    if event == "leave" and members:
        members.pop(random.randrange(len(members)))
    elif event == "join" and members:
        newest = max(int("0" + member["member_id"].partition("new-")[2]) for member in members)
        members.append({**random.choice(members), "member_id": f"new-{newest + random.randint(1, 99)}", "owned_partitions": []})
        members[-1].pop("instance_id", None)
    elif event == "grow" and topics:
        random.choice(topics)["partitions_count"] += random.randint(1, 5)
    elif event == "topic":
        i = random.randint(100, 60_000)
        if f"later-{i}" not in names:
            topics.append({"topic_name": f"later-{i}", "topic_id": uuid(random, i), "partitions_count": 4})
    elif event == "drop" and topics:
        topics.pop(random.randrange(len(topics)))
    elif event == "subscribe" and members and names:
        member = random.choice(members)
        member["topic_names"] = random.sample(names, random.randint(1, len(names)))
    return {"topics": topics, "members": members}


RACKS: Final = ("a", "b", "c")

ALIKE: Final = tuple("".join(pairs) for pairs in product(("Aa", "BB"), repeat=6))
"""Strings with one hash code."""


def names(random: Random, size: int) -> list[str]:
    """Different names, in one of the manners in which people name things, or so that their hash codes are equal."""
    style = random.randrange(6)
    if style == 0:
        return random.sample(ALIKE, size)
    if style == 1:
        return [*random.sample(ALIKE, size // 2), *(f"c{i}" for i in range(size - size // 2))]
    if style == 2:
        return [random.choice(("é", "Ж", "東", "\U0001f418", "\uffee", "_", "Z")) + str(i) for i in range(size)]
    if style == 3:
        return [f"consumer-app-{i + 1}-{random.getrandbits(128):032x}" for i in range(size)]
    start = random.randrange(120)
    return [f"{'t-' if style == 4 else 'member-000'}{start + i}" for i in range(size)]


def topic_ids(random: Random, size: int) -> list[str]:
    """Uuids; now and then some whose hash codes are all equal."""
    halves = [random.randbytes(8) for _ in range(size)]
    alike = random.random() < 0.1
    raw = [half + (half if alike else random.randbytes(8)) for half in halves]
    return [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in raw]


def first_group(protocol: str, random: Random) -> Json:
    """Up to 40 members and 10 topics, and whatever the members claim to have had."""
    size = random.randint(0, random.choice((1, 3, 10)))
    topics: list[Json] = [
        {"topic_name": name, "topic_id": topic_id, "partitions_count": random.randint(1, random.choice((2, 9, 9, 30)))}
        for name, topic_id in zip(names(random, size), topic_ids(random, size), strict=True)
    ]
    if random.random() < 0.3:  # which is what lets range look at several topics together
        for topic in topics:
            topic["partitions_count"] = topics[0]["partitions_count"]
    known = [topic["topic_name"] for topic in topics] + ["unknown"] * random.randint(0, 1)
    members = subscribers(random, names(random, random.randint(random.random() > 0.02, random.choice((2, 6, 14, 40)))), known)
    for i, member in enumerate(members):
        if protocol != "share" and random.random() < 0.2:
            member["instance_id"] = f"{random.choice('ab')}{random.randint(0, 99)}-{i}"
    random.shuffle(members)
    body = {"topics": topics, "members": members}
    if protocol == "classic":
        if random.random() < 0.35:
            give_racks(random, body)
        claim(random, body)
    else:
        own(random, topics, members, shared=protocol == "share")
        if random.random() < 0.03:
            claim_anything(random, body)  # which no broker holds
            for member in members:  # but it holds sets
                ids: dict[str, dict[int, None]] = {}
                for row in member.get("owned_partitions", ()):
                    ids.setdefault(row["topic_name"], {}).update(dict.fromkeys(row["partition_ids"]))
                member["owned_partitions"] = [{"topic_name": name, "partition_ids": [*of_one]} for name, of_one in ids.items()]
    return body


def subscribers(random: Random, member_ids: list[str], known: list[str]) -> list[Json]:
    """Members that subscribe to everything, or to one of a few lists, or each to something of its own."""
    lists = [random.sample(known, random.randint(0, len(known))) for _ in range(random.randint(1, 4))]
    how = random.choice(("everything", "few lists", "own list"))
    members: list[Json] = [{"member_id": member_id} for member_id in member_ids]
    for member in members:
        if how == "few lists":
            member["topic_names"] = random.choice(lists)
        elif how == "own list":
            fewest = min(random.random() < 0.9, len(known))
            member["topic_names"] = random.sample(known, random.randint(fewest, len(known)))
        elif random.random() < 0.8:
            member["topic_names"] = random.sample(known, len(known))
    return members


def give_racks(random: Random, body: Json) -> None:
    """Racks for most replicas and members; some match none."""
    for topic in body["topics"]:
        if random.random() < 0.85:
            replicas = random.choice((0, 1, 2, 3))
            topic["partition_racks"] = [
                random.sample((*RACKS, ""), min(replicas, random.randint(0, 4))) for _ in range(topic["partitions_count"])
            ]
    for member in body["members"]:
        if random.random() < 0.85:
            member["rack_id"] = random.choice((*RACKS, *RACKS, "elsewhere", ""))


def claim(random: Random, body: Json) -> None:
    """A previous assignment: of everybody or few, even or lopsided, of one generation or several, disputed or not."""
    how = random.choice(("nothing", "anything", "lopsided", "lopsided", "scattered"))
    generations = random.choice(((5,), (5,), (3, 4, 5), (-1, 4, 5)))
    for member in body["members"]:
        if random.random() < 0.9:
            member["generation_id"] = random.choice(generations)
    if how == "anything":
        claim_anything(random, body)
    elif how != "nothing":
        disputed = random.choice((0, 0, 0.05, 0.3))
        known = [topic["topic_name"] for topic in body["topics"]]
        for topic in body["topics"]:
            subscribers = [member for member in body["members"] if topic["topic_name"] in member.get("topic_names", known)]
            if not subscribers or random.random() < 0.2:
                continue
            main = random.choice(subscribers)
            for partition_id in range(topic["partitions_count"]):
                lopsided = how == "lopsided" and random.random() < 0.7
                give(main if lopsided else random.choice(subscribers), topic["topic_name"], partition_id)
                if random.random() < disputed:
                    give(random.choice(subscribers), topic["topic_name"], partition_id)


def claim_anything(random: Random, body: Json) -> None:
    """Claims to what the member does not subscribe to, to what others have, to what there is not."""
    counts = {topic["topic_name"]: topic["partitions_count"] for topic in body["topics"]} | {"gone": 3}
    beyond = 2 * (random.random() < 0.2)
    for member in body["members"]:
        if random.random() < 0.6:
            for name in random.choices([*counts], k=random.randint(1, 4)):
                for _ in range(random.randint(0, 5)):
                    give(member, name, random.randrange(counts[name] + beyond))


def give(member: Json, topic_name: str, partition_id: int) -> None:
    """One more row, or one more id in the last row."""
    rows = member.setdefault("owned_partitions", [])
    if not rows or rows[-1]["topic_name"] != topic_name:
        rows.append({"topic_name": topic_name, "partition_ids": []})
    rows[-1]["partition_ids"].append(partition_id)


def change(random: Random, body: Json, assignments: list[Json], rebalance: int) -> Json:
    """A classic group after a rebalance: its members are a generation on and have what they were given, and something happens."""
    had = {one["member_id"]: one["partitions"] for one in assignments}
    members: list[Json] = []
    for member in body["members"]:
        if random.random() < 0.03:  # it has missed the rebalance, or comes back without memory
            members.append(member if random.random() < 0.5 else {**member, "owned_partitions": [], "generation_id": -1})
        else:
            members.append({**member, "owned_partitions": had[member["member_id"]], "generation_id": 5 + rebalance})
    after = {"topics": [dict(topic) for topic in body["topics"]], "members": members}
    event = random.choice((leave, leave, join, join, resize, resize, add_topic, drop_topic, subscribe, None))
    if event and members and after["topics"]:
        event(random, after)
    return after


def leave(random: Random, body: Json) -> None:
    """Some members go."""
    for _ in range(min(len(body["members"]), random.randint(1, 3))):
        body["members"].pop(random.randrange(len(body["members"])))


def join(random: Random, body: Json) -> None:
    """A member comes, anywhere in the order."""
    newcomer = {**random.choice(body["members"]), "member_id": f"joined-{random.getrandbits(32)}"}
    newcomer |= {"owned_partitions": [], "generation_id": -1}
    newcomer.pop("instance_id", None)
    body["members"].insert(random.randint(0, len(body["members"])), newcomer)


def resize(random: Random, body: Json) -> None:
    """A topic gets more partitions, or is made again with fewer."""
    topic = random.choice(body["topics"])
    topic["partitions_count"] = max(1, topic["partitions_count"] + random.choice((-2, -1, 1, 2, 3, 4, 5, 6)))
    if "partition_racks" in topic:
        topic["partition_racks"] = (topic["partition_racks"] + [["a"]] * 6)[: topic["partitions_count"]]


def add_topic(random: Random, body: Json) -> None:
    """A topic comes, to which most subscribe."""
    name = f"later-{random.getrandbits(32)}"
    body["topics"].append({"topic_name": name, "partitions_count": random.randint(1, 9)})
    for member in body["members"]:
        if "topic_names" in member and random.random() < 0.8:
            member["topic_names"] = [*member["topic_names"], name]


def drop_topic(random: Random, body: Json) -> None:
    """A topic goes."""
    body["topics"].pop(random.randrange(len(body["topics"])))


def subscribe(random: Random, body: Json) -> None:
    """A member subscribes to something else."""
    known = [topic["topic_name"] for topic in body["topics"]]
    random.choice(body["members"])["topic_names"] = random.sample(known, random.randint(1, len(known)))


def sendable(body: Json) -> Json:
    """The group as a client can have it: all members subscribe to something, topics and racks have names that Kafka allows.

    In names of topics the characters that are not ASCII are written as their numbers.
    """

    def legal(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: legal(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [legal(each, key) for each in value]
        if key in {"topic_name", "topic_names"}:
            return "".join(c if c.isascii() else f"u{ord(c)}" for c in value)
        return value

    group: Json = legal(body)
    every = [topic["topic_name"] for topic in group["topics"]]
    for topic in group["topics"]:
        if "partition_racks" in topic:
            topic["partition_racks"] = [[rack for rack in racks if rack] for racks in topic["partition_racks"]]
    for member in group["members"]:
        member["topic_names"] = member.get("topic_names", every) or ["unknown"]
    return group


def read_by_all(body: Json) -> Json:
    """The group as readers that form none: all read everything, and own nothing."""
    topics = [{name: topic[name] for name in ("topic_name", "partitions_count")} for topic in body["topics"]]
    return {"topics": topics, "members": [{"member_id": member["member_id"]} for member in body["members"]]}
