"""The verdict about who wrote records, in words."""

import math

from service.core.keys.columns import INTEGERS
from service.core.partitioners.hash_codes import OBJECT
from service.core.printable import counted, share
from service.planner.attribution.equivalents import PartitionerClass
from service.planner.attribution.fingerprints import MOSTLY, Fingerprint
from service.planner.attribution.mixtures import NEVER
from service.planner.attribution.observations import KeyObservations


def conclusion(result: Fingerprint, observations: KeyObservations) -> str:
    """The verdict in words, beginning with what is unexplained if that is most of it."""
    pairs = counted(observations.pairs, "different pair")
    if result.verdict == "unexplained" and not result.mixture.components:
        return f"No partitioner explains more of {pairs} than chance would.{_serializers(result)}"
    if result.transformation:
        chance = min(part.log_chance for part in result.mixture.components) + math.log(result.hypotheses)
        return (
            f"The keys are hashed as {result.transformation}: {_of_writers(result, observations)} The keys as given explain "
            f"nothing; the probability that any of {result.hypotheses:,} hypotheses explains as much by chance is below "
            f"10^{math.ceil(chance / math.log(10))}."
        )
    return _of_writers(result, observations)


def _serializers(result: Fingerprint) -> str:
    """What was tried, and what else to do, where the text of keys explains nothing."""
    if not result.transformations_tried:
        return ""
    return (
        f" Also tried: {result.transformations_tried:,} other ways to make bytes of these keys, for example JSON strings with "
        "their quotes, and Avro and Protobuf with a schema id. Serializers change bytes: give the raw keys (--key-format hex), "
        "or the schema id (--schema-id)."
    )


def _of_writers(result: Fingerprint, observations: KeyObservations) -> str:
    pairs = counted(observations.pairs, "different pair")
    if (result.verdict == "undecided" and result.unexplained_share <= MOSTLY) or not result.mixture.components:
        return f"{_undecided(result, observations)} {_how_many_more(result)}{_serializers(result)}"
    if result.by_count:
        return _of_growth(result, observations)
    if result.verdict == "identified":
        partitions = counted(result.mixture.partitions_count, "partition")
        return f"{_writer(result, observations)} with {partitions} explains all of {pairs}."
    return _of_mixture(result, observations)


def _of_mixture(result: Fingerprint, observations: KeyObservations) -> str:
    mixture = result.mixture
    pairs, partitions = counted(observations.pairs, "different pair"), counted(mixture.partitions_count, "partition")
    grown = f" {_growth(result)}" if result.earlier_counts else ""
    parts = ", ".join(
        f"{share(part.share)} {_label(result, observations, i)} ({share(low)} to {share(high)})"
        for i, (part, (low, high)) in enumerate(zip(mixture.components, result.intervals, strict=False))
    )
    if not mixture.unexplained:
        return f"With {partitions}: {parts}, at 95% confidence. Together they explain all of {pairs}.{grown}"
    left_over = f"Of {pairs}, {_left_over(result)}{grown}"
    if result.unexplained_share > MOSTLY:
        proof = "more than chance would explain, which does not prove that they wrote it"
        rest = f"{parts}: {proof} ({result.candidates_count} candidates are left)."
        if result.verdict == "mixture":
            rest = f"With {partitions}, the rest looks like {parts}, at 95% confidence."
        return f"{result.unexplained_share:.0%} of the observations match no partitioner. {rest} {left_over}"
    return f"With {partitions}: {parts}, at 95% confidence; {share(mixture.chance_share)} chance. {left_over}"


def _of_growth(result: Fingerprint, observations: KeyObservations) -> str:
    """The verdict where one writer used several partition counts, or one that the topic no longer has."""
    total, left = observations.pairs, result.mixture.unexplained
    pairs = counted(total, "different pair")
    head = f"{_writer(result, observations)} explains {f'all {pairs}' if not left else f'{total - left:,} of {pairs}'}"
    (latest, first, alone), *earlier = result.by_count
    if not earlier:
        head += f", with {counted(latest, 'partition')} as before it grew"
    else:
        only = f" ({alone:,} of them only so)" if 0 < alone < first else ""
        parts = [f"{count:,} with {n}" for n, count, _ in earlier]
        parts[-1] = f"the other {parts[-1]}"
        head += f": {first:,} with {counted(latest, 'partition')}{only}, {', '.join(parts)}"
    rest = f" {_left_over(result).capitalize()}" if left else ""
    return f"{head}. {_growth(result)}{rest}"


def _growth(result: Fingerprint) -> str:
    now = f"{result.mixture.partitions_count}{'' if result.count_found else ' or more'}"
    return f"The topic probably grew from {' to '.join(map(str, (*result.earlier_counts, now)))}."


def _left_over(result: Fingerprint) -> str:
    left = result.mixture.unexplained
    return (
        f"{left:,} {'are' if left != 1 else 'is'} left over: for example, their partition was named, or chosen by something that "
        "ignores keys or is not in the list, or the topic had yet another partition count."
    )


def _writer(result: Fingerprint, observations: KeyObservations) -> str:
    """The first writer, with how many others no key distinguishes from it."""
    label, others = _label(result, observations, 0), len(result.writers[0]) - 1
    if others == 1:
        return f"{label} (or {result.writers[0][1]}, which no key distinguishes from it)"
    return f"{label} (or one of {others} others that no key distinguishes from it)" if others > 1 else label


def _label(result: Fingerprint, observations: KeyObservations, i: int) -> str:
    """The writer of a part of the mixture: its first partitioner, or what it does with a key; with an earlier count."""
    each = class_of(result, i)
    earlier = result.partitioners.classes[result.mixture.components[i].class_index].partitions_count
    before = f" with {counted(earlier, 'partition')}" if earlier and not result.by_count else ""
    if each.rule.hash is OBJECT and observations.key_format in INTEGERS:  # which no client in use does
        return f"the number modulo the partition count (as {each.label}){before}"
    return f"{each.label}{before}"


def _undecided(result: Fingerprint, observations: KeyObservations) -> str:
    if observations.keys == 0:
        return "Records without a key are no evidence of a partitioner."
    left = f"{result.candidates_count} candidate{'s are' if result.candidates_count != 1 else ' is'} left"
    if observations.keys == 1:
        cases = (
            "once in as many cases as there are partitions"
            if result.count_open
            else f"in 1 of {result.mixture.partitions_count} cases"
        )
        return f"One sample is never proof: {left}, and chance alone explains it {cases}."
    if not result.mixture.components and result.leaves_pairs:
        return f"No single partitioner explains all of {observations.pairs} pairs, and they are too few to identify several."
    return f"{left[0].upper()}{left[1:]}, and chance has not been ruled out." if not result.mixture.components else f"{left}."


def _how_many_more(result: Fingerprint) -> str:
    more = result.more_samples
    if more == NEVER:
        return "No number of samples can distinguish them."
    samples = f"{more} more sample{'s' if more != 1 else ''}, of other keys"
    if not result.mixture.components and result.leaves_pairs:
        return f"Take {samples}."
    return f"{samples}, would decide it."


def class_of(result: Fingerprint, i: int) -> PartitionerClass:
    """The class of a part of the mixture: of those that no key tells apart, the one that has the first name."""
    classes, names = result.partitioners.classes, result.writers[i]
    first = classes[result.mixture.components[i].class_index]
    return next((each for each in classes if names[:1] == each.names[:1]), first) if names else first
