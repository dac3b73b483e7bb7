"""How even one partition count is and why, in words."""

from typing import Final

from service.core.keys.values import key_text
from service.core.printable import printable
from service.core.sizing.counter import KeyCounter, hashing_rule
from service.core.sizing.distinct_keys import BYTES, NAMED, RECORDS
from service.core.sizing.plans import EVEN, CountPlan, Measure

LISTED: Final = 3
"""Most hot keys that a sentence names."""

LONGEST: Final = 40
"""Most characters of a key in a sentence."""

ALL: Final = 0.9995
"""From this share of the load on, hot keys have all of it."""

NOUNS: Final = ("records", "bytes")
"""What RECORDS and BYTES count."""


def conclusion(counter: KeyCounter, plan: CountPlan, key_format: str) -> str:
    """How even the records are and why. The bytes follow if they are uneven for another reason, or because of other keys."""
    sentences = [_sentence(counter, plan, RECORDS, key_format)]
    if plan.bytes is not None and plan.bytes.verdict != "even":
        keys_of_records, keys_of_bytes = (_hot_keys(counter, plan, column, key_format) for column in (RECORDS, BYTES))
        if plan.bytes.verdict != plan.records.verdict or keys_of_bytes != keys_of_records:
            sentences.append(_sentence(counter, plan, BYTES, key_format))
    if plan.needs_new_topic:
        sentences.append(f"Kafka cannot remove partitions, so {partitions(plan.partitions_count)} would need a new topic.")
    return " ".join(sentences)


def partitions(count: int) -> str:
    """``"12 partitions"``."""
    return f"{count} partitions" if count != 1 else "one partition"


def _sentence(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> str:
    of = _measure(plan, column)
    if not of.spread.max:
        return "There is no record with a key."
    if plan.partitions_count == 1:
        return "One partition has every record."
    if of.verdict == "hot-keys":
        return _of_hot_keys(plan, column, _hot_keys(counter, plan, column, key_format))
    return _of_others(plan, column)


def _of_others(plan: CountPlan, column: int) -> str:
    """The sentence where hot keys are not the cause."""
    of, name = _measure(plan, column), plan.partitioner
    head = f"With {name} and {partitions(plan.partitions_count)}, the fullest partition has {_times(of.spread.skew)} × the mean"
    head += " in bytes" if column == BYTES else ""
    band = f"{_times(of.chance.low)} to {_times(of.chance.high)}"
    least = f" No partitioner gets below {_times(of.floor)}." if of.floor > EVEN else ""
    if of.verdict == "even":
        return f"{head}: the {NOUNS[column]} are spread evenly."
    if of.verdict == "chance":
        return f"{head}, as chance gives for these keys ({band}).{least}"
    effect = f"; {name} is more even" if of.spread.skew < of.chance.low else ", so the partitioner is the cause"
    return f"{head}. Chance gives {band} for these keys{effect}.{least}"


def _of_hot_keys(plan: CountPlan, column: int, names: list[str]) -> str:
    """The sentence where hot keys are the cause. names : of the heaviest"""
    of = _measure(plan, column)
    least = f"o partitioner gets below {_times(of.floor)} × the mean with {partitions(plan.partitions_count)}"
    if of.spread.skew > 1.005 * of.floor:
        least += f" ({plan.partitioner}: {_times(of.spread.skew)})"
    if not names:
        return f"The heaviest keys do not spread evenly: n{least}."
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    how_many = {1: "One key", 2: "Two keys", 3: "Three keys"}.get(of.hot_keys, f"{of.hot_keys} keys, such as")
    who = f"{how_many}{',' if of.hot_keys <= LISTED else ''} {listed}, {'has' if of.hot_keys == 1 else 'have'}"
    advice = f"split or drop {'the key' if of.hot_keys == 1 else 'these keys'}" if of.hot_share < ALL else "more keys are needed"
    share = f"{100 * of.hot_share:.3g}% of the {NOUNS[column]}"
    return f"{who} {share}. N{least}, and more partitions make it worse; {advice}."


def _hot_keys(counter: KeyCounter, plan: CountPlan, column: int, key_format: str) -> list[str]:
    """The heaviest hot keys as text, at most LISTED."""
    of, name = _measure(plan, column), plan.partitioner
    if not of.hot_keys:
        return []
    without = b"" if hashing_rule(name).empty_as_null else None
    keys = [(weight - error, key) for key, weight, error in counter.distinct.heaviest(column, NAMED) if key != without]
    weighed = [(weight, _shown(key, key_format)) for weight, key in keys[:LISTED]]
    weighed.append((counter.as_one_key(name)[column], "the null key"))
    weighed.sort(key=lambda each: -each[0])
    return [text for _, text in weighed[: min(of.hot_keys, LISTED)]]


def _shown(key: bytes, key_format: str) -> str:
    text = printable(key_text(key, key_format)[: LONGEST + 1])
    return text if 0 < len(text) <= LONGEST else f"{text[:LONGEST]}…" if text else "the empty key"


def _measure(plan: CountPlan, column: int) -> Measure:
    return plan.bytes if column == BYTES and plan.bytes is not None else plan.records


def _times(skew: float) -> str:
    return f"{skew:.3g}" if skew < 1000 else f"{skew:,.0f}"
