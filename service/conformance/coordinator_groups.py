"""Random consumer and share groups, such as a group coordinator may hold, and what becomes of them."""

import base64
from random import Random

from service.core.documents import Json


def uuid(random: Random, i: int) -> str:
    """A base64 Uuid, another one for every i."""
    raw = random.getrandbits(112).to_bytes(14, "big") + i.to_bytes(2, "big")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def topic(random: Random, i: int, *, ids: bool) -> Json:
    """A topic of a few partitions, or of some more."""
    name = random.choice(("t", "orders-", "été-")) + str(i)
    one: Json = {"topic_name": name, "partitions_count": random.randint(1, random.choice((2, 9, 60)))}
    if ids or random.random() < 0.7:
        one["topic_id"] = uuid(random, i)
    return one


def own(random: Random, topics: list[Json], members: list[Json], *, shared: bool) -> None:
    """Give partitions to members, subscribed or not, more to some than to others, in no order."""
    if not members or random.random() < 0.3:
        return
    taken = random.random()
    favoured = random.sample(members, random.randint(1, len(members)))
    for one in topics:
        for partition_id in random.sample(range(one["partitions_count"]), one["partitions_count"]):
            while random.random() < taken:
                rows = random.choice(favoured).setdefault("owned_partitions", [])
                row = next((row for row in rows if row["topic_name"] == one["topic_name"]), None)
                if row is None:
                    row = {"topic_name": one["topic_name"], "partition_ids": []}
                    rows.append(row)
                if partition_id not in row["partition_ids"]:
                    row["partition_ids"].append(partition_id)
                if not shared or random.random() < 0.6:
                    break
    if random.random() < 0.1:
        random.choice(members).setdefault("owned_partitions", []).append({"topic_name": "gone", "partition_ids": [0]})


def change(random: Random, body: Json, assignments: list[Json]) -> Json:
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
