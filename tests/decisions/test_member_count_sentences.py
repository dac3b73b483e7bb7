"""Each sentence about numbers of members is judged by planning every number."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import UUID

from service.api.member_counts import FORM
from service.core.budget import Budget
from service.http.forms import Refused

GROUPS = 75
NUMBER = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
ALONE = r"[abc]-[0-9] alone has [^:]*, and only one member can read it"
READERS = r"[abc] has .* with [0-9]+ readers?"
MEMBERS = rf"(?:(?:{NUMBER}) members?(?: in {NUMBER} pods?)?|(?:{NUMBER}) pods? of {NUMBER} members?)"


def ask(body: dict[str, Any], *, beside_balanced: bool = True) -> dict[str, Any]:
    question = replace(FORM.question({**body, "standstill": False}), beside_balanced=beside_balanced)
    answer: dict[str, Any] = json.loads(FORM.json(FORM.decide(question, Budget())))
    return answer


def topic(draw: random.Random, name: str, kind: str) -> dict[str, Any]:
    """A topic without loads, with weights, or with a lag that may not be known."""
    count = draw.randint(1, 6)
    described: dict[str, Any] = {"topic_name": name, "partitions_count": count}
    if kind == "weights":
        described["partition_weights"] = [draw.choice((0, 1, 5, 5, 40)) for _ in range(count)]
    elif kind == "lag" and (name == "a" or draw.random() < 0.9):
        described["lag"] = {
            "committed_offsets": [draw.choice((100, 100, 100, 105, None if draw.random() < 0.3 else 100)) for _ in range(count)],
            "log_end_offsets": [draw.choice((100, 100, 130, 400, None if draw.random() < 0.1 else 101)) for _ in range(count)],
        }
    return described


def member(draw: random.Random, names: list[str]) -> dict[str, Any]:
    """A member with an id as clients draw it. names : the topics of which it reads some; none: it reads all"""
    described: dict[str, Any] = {"member_id": f"c-{UUID(int=draw.getrandbits(128), version=4)}"}
    if names:
        described["topic_names"] = draw.sample(names, draw.randint(1, len(names)))
    if draw.random() < 0.05:
        described["capacity"] = draw.choice((1, 2))
    return described


def drawn(draw: random.Random) -> dict[str, Any]:
    """A question of a kind that people have."""
    names = ["a", "b", "c"][: draw.choice((1, 1, 2, 3))]
    kind = draw.choice(("none", "weights", "lag", "lag", "lag"))
    unlike = names if draw.random() < 0.3 else []
    protocol, assignor = draw.choice(
        [("classic", name) for name in ("range", "roundrobin", "cooperative-sticky")]
        + [("consumer", "uniform"), ("share", "simple")]
    )
    body: dict[str, Any] = {
        "topics": [topic(draw, name, kind) for name in names],
        "members": [member(draw, unlike) for _ in range(draw.randint(0, 5))],
        "group_protocol": protocol,
        "assignor": assignor,
    }
    if draw.random() < 0.5:
        body["limits"] = {"max_load": draw.choice((1, 2, 3, 5, 30, 45, 100))}
    if kind != "none" and draw.random() < 0.4:
        body["consumption_rate"] = draw.choice((1, 10))
        body.setdefault("limits", {})["max_lag_seconds"] = draw.choice((1, 4, 30))
    if draw.random() < 0.3:
        body["members_counts"] = sorted(draw.sample(range(1, 12), draw.randint(1, 4)))
    if draw.random() < 0.2:
        body["threads_per_pod"] = draw.choice((2, 5))
    if draw.random() < 0.3:
        body["keda"] = {"offset_reset_policy": draw.choice(("latest", "earliest"))}
    return body


class Judge:
    """What is true of a question: every number of members, planned.

    read : the topics that some member reads
    """

    def __init__(self, body: dict[str, Any], answer: dict[str, Any]) -> None:
        self.body, self.answer = body, answer
        self.listed = [plan["members_count"] for plan in answer["plans"]]
        partitions = sum(topic["partitions_count"] for topic in body["topics"])
        most = max(2 * partitions + 3, *self.listed, len(body["members"]) + 3)
        whole = ask({**body, "members_counts": [*range(1, most + 1)]}, beside_balanced=False)
        self.plans = {plan["members_count"]: plan for plan in whole["plans"]}
        self.worth = [plan["members_count"] for plan in answer["plans"] if plan["gains"]]

    def within(self, count: int) -> bool:
        """Are all partitions read, within the limits?"""
        if count not in self.plans:
            self.plans[count] = ask({**self.body, "members_counts": [count]}, beside_balanced=False)["plans"][0]
        plan = self.plans[count]
        return not plan["unread_partitions"] and all(plan["meets"].values())

    def worst(self, count: int) -> float:
        """The largest load, if all partitions are read."""
        plan = self.plans[count]
        return float("inf") if plan["unread_partitions"] else plan["worst_load"]


def count_of(text: str) -> int:
    """``2 pods of 5 members`` → 10"""
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", text)]
    return numbers[0] * numbers[1] if " of " in text else numbers[0]


def fewest(judge: Judge, found: re.Match[str]) -> None:
    count = count_of(found["count"])
    step = judge.body.get("threads_per_pod", 1) if "fewest pods" in found[0] else 1
    assert judge.within(count)
    assert not any(judge.within(each) for each in range(step, count, step))


def fewest_planned(judge: Judge, found: re.Match[str]) -> None:
    count = count_of(found["count"])
    assert judge.within(count)
    assert not any(judge.within(each) for each in judge.listed if each < count)


def would_do(judge: Judge, found: re.Match[str]) -> None:
    count = count_of(found["count"])
    assert judge.within(count)
    step = judge.body.get("threads_per_pod", 1) if "members_counts" not in judge.body else 1
    assert not any(judge.within(each) for each in range(step, count, step))


def cannot_be(judge: Judge, found: re.Match[str]) -> None:
    assert not any(judge.within(each) for each in range(1, min(count_of(found["count"]), max(judge.plans))))


def none_planned(judge: Judge, _: re.Match[str]) -> None:
    assert not any(map(judge.within, judge.listed))


def none_at_all(judge: Judge, _: re.Match[str]) -> None:
    assert not any(map(judge.within, judge.plans))


def now_is(judge: Judge, found: re.Match[str]) -> None:
    assert int(found["count"]) == judge.answer["current_members_count"]


def more_in_vain(judge: Judge, found: re.Match[str]) -> None:
    count = count_of(found["count"])
    assert count in judge.listed
    least = judge.worst(count) * (1 - 1e-9)
    assert all(judge.worst(each) >= least for each in judge.plans if each > count)
    assert all(judge.worst(each) > judge.worst(count) for each in judge.listed if each < count), "the first of those"


def more_of_a_kind_in_vain(judge: Judge, _: re.Match[str]) -> None:
    first = max(len(judge.body["members"]), 1)
    least = min(judge.worst(each) for each in judge.listed) * (1 - 1e-9)
    assert all(judge.worst(each) >= least for each in judge.plans if each > first)


def none_planned_above(judge: Judge, found: re.Match[str]) -> None:
    count = count_of(found["count"])
    assert all(judge.worst(each) >= judge.worst(count) * (1 - 1e-9) for each in judge.listed if each > count)


def worth_using(judge: Judge, found: re.Match[str]) -> None:
    assert [int(number) for number in found["counts"].split(", ")] == judge.worth[:12]
    loads = [judge.worst(each) for each in judge.worth]
    assert loads == sorted(loads, reverse=True)


def share(judge: Judge, _: re.Match[str]) -> None:
    assert judge.body["group_protocol"] == "share"


def no_better(judge: Judge, found: re.Match[str]) -> None:
    now, below = int(found["now"]), int(found["below"])
    assert now == len(judge.body["members"])
    assert judge.worst(now) >= judge.worst(below) * (1 - 1e-9)


def all_of_the_lag(judge: Judge, found: re.Match[str]) -> None:
    lags, of_all = lags_of(judge.body)
    assert (float(found["lag"].replace(",", "")), int(found["count"])) == (sum(lags), len([lag for lag in lags if lag]))
    assert int(found["all"]) == of_all


def the_lag(judge: Judge, found: re.Match[str]) -> None:
    lags, of_all = lags_of(judge.body)
    assert (float(found["lag"].replace(",", "")), len([lag for lag in lags if lag])) == (sum(lags), of_all)


def no_lag(judge: Judge, _: re.Match[str]) -> None:
    assert not any(lags_of(judge.body)[0])


def balanced_would(judge: Judge, found: re.Match[str]) -> None:
    plan = ask({**judge.body, "members_counts": [count_of(found["count"])]})["balanced"]["plans"][0]
    assert all(plan["meets"].values())
    assert not plan["unread_partitions"]


def lags_of(body: dict[str, Any]) -> tuple[list[float], int]:
    """The lags of the partitions that are read, as far as there are any, and how many partitions that are."""
    policy = (body.get("keda") or {}).get("offset_reset_policy")
    topics_read = {
        name for each in body["members"] for name in each.get("topic_names", [t["topic_name"] for t in body["topics"]])
    }
    lags: list[float] = []
    of_all = 0
    for each in body["topics"]:
        if body["members"] and each["topic_name"] not in topics_read:
            continue
        of_all += each["partitions_count"]
        lags += each.get("partition_weights", [])
        for committed, end in zip(
            *((each.get("lag") or {}).get(name, ()) for name in ("committed_offsets", "log_end_offsets")), strict=True
        ):
            if end is not None:
                lags.append(max(end - committed, 0) if committed is not None else end if policy == "earliest" else 0)
    return lags, of_all


PLANNED = r"Of the numbers planned \([^)]*\)"
TEMPLATES = {
    rf"(?P<count>{MEMBERS}) (?:is|are) the fewest(?: pods)? within the limits": fewest,
    rf"{PLANNED}, (?P<count>{MEMBERS}) (?:is|are) the fewest(?: pods)? within the limits": fewest_planned,
    rf"; (?P<count>{MEMBERS}) would (?:do|be) \([^)]*÷[^)]*\)(?:, which was not planned)?": would_do,
    rf"; fewer than (?P<count>{NUMBER}) cannot be \([^)]*÷[^)]*\)(?:, and [^;]* (?:was|were) not planned)?": cannot_be,
    rf"; now there are (?P<count>{NUMBER})(?: members?)?, (?:also within them|not within them|within them too, but no whole "
    r"number of pods|but not with the partitions that they own|within them only with the partitions that they own)": now_is,
    rf"(?:{MEMBERS} (?:is|are) not within the limits|Neither {NUMBER} nor {NUMBER} members are within the limits|Of the "
    r"numbers of members planned \([^)]*\), none is within the limits)(?: with all partitions read)?": none_planned,
    rf"; the least that was found is [^;]*, with {MEMBERS}": lambda *_: None,
    rf"No number of members is within the limits: {ALONE}": none_at_all,
    rf"No number of members is within the limits as long as further ones read [^:]*: {READERS}": none_at_all,
    rf"With balanced, (?P<count>{MEMBERS}) would do": balanced_would,
    rf"More than (?P<count>{MEMBERS}) gain nothing(?:: {ALONE})?": more_in_vain,
    rf"(?:: |, )more than (?P<count>{MEMBERS}) cannot shorten it, since {ALONE}": more_in_vain,
    rf"More members (?:gain nothing|cannot shorten it) if they read [^:]*: {READERS}": more_of_a_kind_in_vain,
    rf"{PLANNED}, none above (?P<count>{NUMBER}) (?:gains|shortens it)": none_planned_above,
    rf"{NUMBER} is the largest number planned; more may gain": lambda *_: None,
    r"More may gain as well: several members of a share group read a partition": share,
    r"Worth using(?: against it)?(?:, of the (?:[0-9]+ )?numbers planned)?: (?P<counts>[0-9]+(?:, [0-9]+)*)(?: …)?": worth_using,
    rf"The current (?P<now>{NUMBER}) members are no better than (?P<below>{NUMBER})": no_better,
    rf"All of the lag \((?P<lag>{NUMBER})\) is on (?P<count>{NUMBER}) of (?P<all>{NUMBER}) partitions?(?:, [abc]-[0-9])*": (
        all_of_the_lag
    ),
    rf"The lag is (?P<lag>{NUMBER})": the_lag,
    r", which only one member can read: more members cannot shorten it; a faster member can, or for new records more "
    r"partitions and other keys": lambda judge, _: more_in_vain(
        judge, re.fullmatch(r"(?P<count>.*)", f"{judge.worth[0]} members")
    ),
    r"There is no lag, which does not tell how many members the group needs": no_lag,
    r"Lag is not a rate: partitions may have none because members read them": lambda *_: None,
    r"With [0-9 to,…and]+ members, topics that only later members read have no reader": lambda judge, _: none_read(judge),
}
"""A sentence, or a part of one that ends with it, and what judges it."""


def none_read(judge: Judge) -> None:
    assert all(judge.plans[each]["unread_partitions"] for each in judge.listed)


def read(judge: Judge, text: str) -> None:
    """Judge each part of a conclusion; all of it is of a known template."""
    while text:
        found = next((match for form in TEMPLATES if (match := re.match(rf"{form}(?=[.;,:]|$)", text))), None)
        assert found, text
        form = next(form for form in TEMPLATES if re.match(rf"{form}(?=[.;,:]|$)", text))
        TEMPLATES[form](judge, found)
        text = re.sub(r"^\. ?", "", text[found.end() :])


def judged(body: dict[str, Any]) -> set[str]:
    """Judge the conclusion about a question; the kinds of unknown that it names."""
    answer = ask(body)
    text, kinds = answer["conclusion"], set()
    if found := re.match(
        r"([0-9]+) of [0-9]+ partitions? ha(?:s|ve) no known log end \([^)]*\), so what is to be read there is not known. "
        r"Without that: ",
        text,
    ):
        kinds.add("no log end")
        assert answer["recommended"] is None
        text = text[found.end() :]
        body = {**body, "topics": [ended(each) for each in body["topics"]]}
    otherwise = re.fullmatch(
        r"([0-9]+) of [0-9]+ partitions? ha(?:s|ve) no committed offset \([^)]*\)\. With auto\.offset\.reset=earliest that is "
        r"([0-9,]+) records of lag: (.*) With latest: (.*)",
        text,
    )
    policies = [("latest", text)] if otherwise is None else [("earliest", otherwise[3]), ("latest", otherwise[4])]
    kinds |= {"no commit"} if otherwise else set()
    given = (body.get("keda") or {}).get("offset_reset_policy")
    if otherwise is None and given is None:
        policies.append(("earliest", text))  # both are alike
    for policy, part in policies:
        assumed = {**body, "keda": {"offset_reset_policy": given or policy}}
        read(Judge(assumed, ask(assumed)), part)
    if not kinds and answer["recommended"] is None and body.get("limits"):
        assert " the fewest" not in text
    return kinds


def ended(described: dict[str, Any]) -> dict[str, Any]:
    """The topic with nothing to read where no log end is known."""
    count = described["partitions_count"]
    lag = described.get("lag") or {"committed_offsets": [0] * count, "log_end_offsets": [None] * count}
    pairs = zip(lag["committed_offsets"], lag["log_end_offsets"], strict=True)
    both = [(committed, end) if end is not None else (0, 0) for committed, end in pairs]
    return {**described, "lag": {"committed_offsets": [one for one, _ in both], "log_end_offsets": [end for _, end in both]}}


def kedas_replicas(body: dict[str, Any], option: str | None) -> tuple[float, float]:
    """The lag that KEDA's triggers report and the replicas for it, from the offsets of the question."""
    settings, is_active = body.get("keda", {}), False
    reported, replicas = 0.0, [0.0]
    threshold, pods = settings.get("lag_threshold", 10), -(-len(body["members"]) // body.get("threads_per_pod", 1)) or 1
    topics: list[list[float]] = []
    for topic in body["topics"]:
        offsets = topic.get("lag", {"committed_offsets": [], "log_end_offsets": []})
        pairs = zip(offsets["committed_offsets"], offsets["log_end_offsets"], strict=True)
        uncommitted = settings.get("offset_reset_policy") == "earliest"
        lags = [
            end - committed if committed is not None else end if uncommitted else 1 for committed, end in pairs if end is not None
        ]
        topics.append(lags + topic.get("partition_weights", []))
    for lags in topics if option in ("limitToPartitionsWithLag", "ensureEvenDistributionOfPartitions") else [[*chain(*topics)]]:
        total, most = sum(lags), len(lags)
        is_active |= total > 0
        if option == "ensureEvenDistributionOfPartitions":
            total = threshold * next((n for n in range(1, most + 1) if most % n == 0 and n * threshold >= total), most)
        elif option == "limitToPartitionsWithLag":
            most = sum(lag > 0 for lag in lags)
        if option != "allowIdleConsumers" and total // threshold > most:
            total = most * threshold
        reported += total
        is_near = 0.9 <= max(total, 0) / threshold / pods <= 1.1
        replicas.append(pods if is_near else -(-max(total, 0) // threshold))
    return reported, max(1, min(max(replicas), 100)) if is_active else 0


def test_sentences_of_small_random_groups_are_true() -> None:
    draw, kinds, asked = random.Random(46), set(), 0
    for _ in range(GROUPS):
        body = drawn(draw)
        try:
            answer = ask(body)
        except Refused:
            continue
        asked += 1
        for policy in answer["policies"]:
            assert (policy["total_lag"], policy["replicas"]) == kedas_replicas(body, policy["option"]), json.dumps(body)
        try:
            kinds |= judged(body)
        except AssertionError as error:
            raise AssertionError(f"{ask(body)['conclusion']}\n{json.dumps(body)}\n{error}") from error
    assert asked > GROUPS * 0.9
    assert kinds == {"no log end", "no commit"}
