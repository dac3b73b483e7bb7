"""Which topics a plan may change, which brokers they may be on, and how many leaders each has: by names and patterns of topics.

In a pattern, ``*`` stands for any characters, also none, and ``?`` for one; every other character stands for itself. No name
that Kafka accepts has either, whereas the dot of a regular expression is part of many names. RE2, which Arrow matches with, takes
time in proportion to the length of the pattern times that of the names.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from service.core.budget import Budget, looking
from service.core.errors import MAX_ERRORS, InvalidQuestion
from service.core.model import LARGEST, SMALLEST, Bools, Int32s
from service.planner.reassignments import BALANCES, RESOURCES
from service.planner.reassignments.model import Brokers, BrokerSets, Goal, Placements, Priorities, TopicLeaders
from service.planner.reassignments.resources.loads import names_of

_READ: Final = ("bytes_out_per_second", "cpu")
_WRITTEN: Final = ("bytes_per_second", "leader_bytes_per_second", *_READ)
"""Resources that need to know what consumers read, and what producers write."""


def read_balance(value: Any) -> tuple[str, Priorities]:
    """``Goal.balance`` and ``Goal.resources`` of a name, a list of names, or a dict of weights. Raises InvalidQuestion."""
    names: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, list | dict) else []
    if not names:
        raise InvalidQuestion("Must be a resource, a list of resources, or an object of their weights.", "balance")
    for at, name in enumerate(names):
        place = ("balance",) if isinstance(value, str) else ("balance", name if isinstance(value, dict) else at)
        if name not in RESOURCES:
            raise InvalidQuestion(f"Must be one of: {', '.join(RESOURCES)}.", *place)
        if name in names[:at]:
            raise InvalidQuestion(f"Duplicate resource {name!r}.", *place)
        weight = value[name] if isinstance(value, dict) else 1
        if type(weight) not in (int, float) or not SMALLEST <= weight <= LARGEST:
            raise InvalidQuestion(f"Must be a number from {SMALLEST} to {LARGEST:g}.", *place)
    if len(names) == 1 and names[0] in BALANCES:
        return names[0], ()
    if isinstance(value, dict):
        return BALANCES[0], (tuple((name, float(weight)) for name, weight in value.items()),)
    return BALANCES[0], tuple(((name, 1.0),) for name in names)


def parse_balance(text: str) -> str | list[str] | dict[str, float]:
    """``balance`` as commands have it: ``bytes``, ``bytes,leaders`` by priority, or ``bytes=2,leaders=1`` with weights.

    Raises InvalidQuestion.
    """
    parts = [part.strip().partition("=") for part in text.split(",")]
    names = [name for name, _, _ in parts]
    if not any(equals for _, equals, _ in parts):
        return names[0] if len(names) == 1 else names
    if len(set(names)) < len(names):
        raise InvalidQuestion("Each resource has one weight.", "balance")
    try:
        return {name: float(weight) for name, _, weight in parts}
    except ValueError:
        raise InvalidQuestion(f"{text!r} is neither resources nor RESOURCE=WEIGHT, separated by commas.", "balance") from None


def balance_text(value: str | list[str] | dict[str, float]) -> str:
    """``balance`` as commands have it: the inverse of ``parse_balance``."""
    if isinstance(value, dict):
        return ",".join(f"{name}={weight:g}" for name, weight in value.items())
    return value if isinstance(value, str) else ",".join(value)


def faults_of_balance(goal: Goal, brokers: Brokers, placements: Placements, *, frontier: bool) -> Iterator[InvalidQuestion]:
    """What several resources cannot go with, and what they need to know."""
    if not goal.resources:
        return
    if goal.per_topic:
        yield InvalidQuestion("Not allowed together with other or several resources.", "per_topic")
    if frontier:
        yield InvalidQuestion("The frontier needs balance = replicas or bytes.", "balance")
    names = names_of(goal)
    needs = {
        "partition_bytes": (placements.sizes, ("bytes",)),
        "partition_bytes_per_second": (placements.rates, _WRITTEN),
        "partition_bytes_out_per_second": (placements.read_rates, _READ),
    }
    for field, (known, users) in needs.items():
        use = next((name for name in names if name in users), None)
        if known is None and use is not None:
            yield InvalidQuestion(f"The topics' {field} are required for balance = {use}.", "balance")
    if "cpu" in names and brokers.cpu_usage is not None:
        leads = placements.replicas.firsts()
        unknown = leads[brokers.listed[leads] & np.isnan(brokers.cpu_usage[leads])]
        if len(unknown):
            yield InvalidQuestion("Required, because another broker has it.", "brokers", int(unknown.min()), "cpu_usage")


_WILDCARDS: Final = re.compile(r"(\*+|\?)")

SELECTOR_BYTES, SELECTOR_COPIES = 50, 3
"""Memory for each name or pattern, and of each character of it: an array of them, its hash table, and whether they are known."""
PATTERN_BYTES: Final = 250
"""The same for each pattern, further: its text twice and a hash table."""

_FEWEST_CHARACTERS: Final = 10_000
"""Of topic names: to prepare a pattern takes as long as to compare it with some of so many, 70 µs."""

_AT_ONCE: Final = 1_000
"""Names between two looks at the time: half a second with the longest names and the worst pattern."""

_RULES_AT_ONCE: Final = 100
"""Sets and rules between two looks at the time: 10 ms."""


def excluded_topics(
    names: pa.StringArray, included: Sequence[str], excluded: Sequence[str], budget: Budget
) -> tuple[Bools, list[InvalidQuestion]]:
    """bool[topics], which stay as they are: those that ``included`` does not select, if it has any, and those that ``excluded``
    selects; and a fault for each name or pattern that selects none.

    names : none twice. Raises what the budget raises.
    """
    faults = list[InvalidQuestion]()
    wanted = _all_selected(names, included, "included_topics", budget, faults)
    unwanted = _all_selected(names, excluded, "excluded_topics", budget, faults)
    return unwanted | ~wanted if included else unwanted, faults


def broker_sets(
    sets: Sequence[tuple[str, Sequence[int]]], names: pa.StringArray, brokers: Brokers, topics: Int32s, budget: Budget
) -> tuple[BrokerSets | None, list[InvalidQuestion]]:
    """The brokers that partitions may be on, and a fault for each name or pattern that no topic has and each unknown broker.

    sets : names or patterns of topics, and ids of brokers; the first that selects a topic holds, a topic that no set fits may be
    on all
    topics : int32[partitions], the topic of each. Raises what the budget raises.
    """
    if not sets:
        return None, []
    faults = list[InvalidQuestion]()
    ids = brokers.cluster.broker_ids[brokers.listed]
    row_of = np.full(len(names), len(sets), np.int32)
    allowed = np.ones((len(sets) + 1, len(brokers)), np.bool_)
    _check_patterns(names, _array([selector for selector, _ in sets], names, budget), "broker_sets", budget)
    for row, (selector, broker_ids) in looking(enumerate(sets), _RULES_AT_ONCE):
        selected = _selected(names, selector, budget)
        row_of[selected & (row_of == len(sets))] = row
        allowed[row] = np.isin(brokers.cluster.broker_ids, np.array(broker_ids, np.int64))
        if not selected.any():
            faults.append(_selects_none(selector, "broker_sets", row, "topics"))
        known = np.isin(np.array(broker_ids, np.int64), ids)
        faults += (
            InvalidQuestion(f"Unknown broker {broker_ids[at]}.", "broker_sets", row, "broker_ids", at)
            for at in np.flatnonzero(~known)[:MAX_ERRORS].tolist()
        )
        if len(faults) >= MAX_ERRORS:
            break
    used, rows = np.unique(row_of, return_inverse=True)
    return BrokerSets(rows.astype(np.int32)[topics], allowed[used]), faults


def topic_leaders(
    rules: Sequence[tuple[str, int, Sequence[int] | None]],
    names: pa.StringArray,
    brokers: Brokers,
    topics: Int32s,
    budget: Budget,
) -> tuple[TopicLeaders | None, list[InvalidQuestion]]:
    """How many partitions of a topic each broker leads at least, and a fault for each name or pattern that no topic has and
    each broker that is unknown or cannot lead.

    rules : names or patterns of topics, the number, and ids of brokers, None for all that may lead; where several select a topic
        and a broker, the largest number holds
    topics : int32[partitions], the topic of each; of a topic without partitions nothing is asked. Raises what the budget raises.
    """
    if not rules:
        return None, []
    faults = list[InvalidQuestion]()
    ids, may_lead = brokers.cluster.broker_ids, brokers.usable & ~brokers.demoted
    least = np.zeros((len(names), len(brokers)), np.int32)
    _check_patterns(names, _array([selector for selector, *_ in rules], names, budget), "min_topic_leaders", budget)
    for row, (selector, number, broker_ids) in looking(enumerate(rules), _RULES_AT_ONCE):
        selected = _selected(names, selector, budget)
        if not selected.any():
            faults.append(_selects_none(selector, "min_topic_leaders", row, "topics"))
        named = np.array(broker_ids or [], np.int64)
        leading = may_lead if broker_ids is None else may_lead & np.isin(ids, named)
        known, leads = np.isin(named, ids[brokers.listed]), np.isin(named, ids[may_lead])
        faults += (
            InvalidQuestion(
                f"Broker {named[at]} is fenced, draining, replaced or demoted, so it may not lead."
                if known[at]
                else f"Unknown broker {named[at]}.",
                "min_topic_leaders", row, "broker_ids", at,
            )
            for at in np.flatnonzero(~leads)[:MAX_ERRORS].tolist()
        )  # fmt: skip
        if len(faults) >= MAX_ERRORS:
            break
        cells = np.ix_(selected, leading)
        least[cells] = np.maximum(least[cells], number)
    least[np.bincount(topics, minlength=len(names)) == 0] = 0
    rows, columns = (each.astype(np.int32) for each in np.nonzero(least))
    return (TopicLeaders(rows, columns, least[rows, columns]) if len(rows) else None), faults


def _check_patterns(names: pa.StringArray, patterns: pa.StringArray, field: str, budget: Budget) -> None:
    """Raise LimitExceeded if the patterns take too long."""
    of_names, of_patterns = (pc.sum(pc.binary_length(texts)).as_py() or 0 for texts in (names, patterns))
    characters = max(of_names, _FEWEST_CHARACTERS) * of_patterns
    what = f"characters of patterns × characters of topic names (at least {_FEWEST_CHARACTERS:,})"
    budget.check("max_assignment_cells", characters, what, field)


def _array(selectors: Sequence[str], names: pa.StringArray, budget: Budget) -> pa.StringArray:
    """Names and patterns as an array like the names."""
    budget.reserve(SELECTOR_BYTES * len(selectors) + SELECTOR_COPIES * sum(map(len, selectors)))
    return pa.array(selectors, names.type)


def _all_selected(
    names: pa.StringArray, selectors: Sequence[str], field: str, budget: Budget, faults: list[InvalidQuestion]
) -> Bools:
    """bool[topics], which some of these names and patterns select; appends to ``faults``."""
    given = _array(selectors, names, budget)
    wild = np.array(pc.match_substring_regex(given, "[*?]"), np.bool_)
    with_wildcards = given.filter(wild)
    _check_patterns(names, with_wildcards, field, budget)
    budget.reserve(PATTERN_BYTES * len(with_wildcards))
    patterns = pc.unique(with_wildcards).to_pylist()
    selected = np.array(pc.is_in(names, value_set=given), np.bool_)
    fits = list[str]()
    for pattern in patterns:
        matches = _matches(names, pattern, budget)
        selected |= matches
        if matches.any():
            fits.append(pattern)
    known = np.array(pc.is_in(given, value_set=names), np.bool_)
    if patterns:
        known[wild] = pc.is_in(with_wildcards, value_set=pa.array(fits, names.type))
    unknown = np.flatnonzero(~known)[: MAX_ERRORS - len(faults)].tolist()
    faults += (_selects_none(selectors[row], field, row) for row in unknown)
    return selected


def _selected(names: pa.StringArray, selector: str, budget: Budget) -> Bools:
    """bool[topics], which a name or pattern selects."""
    return _matches(names, selector, budget) if _WILDCARDS.search(selector) else np.array(pc.equal(names, selector), np.bool_)


def _selects_none(selector: str, *place: str | int) -> InvalidQuestion:
    """The fault of a name or pattern that selects no topic."""
    return InvalidQuestion(f"{'No topic matches' if _WILDCARDS.search(selector) else 'Unknown topic'} {selector!r}.", *place)


def _matches(names: pa.StringArray, pattern: str, budget: Budget) -> Bools:
    """bool[names], which the pattern matches."""
    expression, matches = _expression(pattern), np.zeros(len(names), np.bool_)
    for start in range(0, len(names), _AT_ONCE):
        budget.check_time()
        matches[start : start + _AT_ONCE] = pc.match_substring_regex(names[start : start + _AT_ONCE], expression)
    return matches


def _expression(pattern: str) -> str:
    """The pattern as RE2 reads it, for whole names."""
    parts = _WILDCARDS.split(pattern)  # in turn what stands for itself, and wildcards
    return "".join(
        (r"(?s)\A", *("." if part == "?" else ".*" if i % 2 else re.escape(part) for i, part in enumerate(parts)), r"\z")
    )
