"""Keys whose text is not their bytes: which transformation of the keys makes a partitioner explain the pairs.

Every transformation is another hypothesis for each class and partition count, and all of them count in the probability of a
coincidence. A few pairs are enough to tell a transformation from chance, so each is tried with SAMPLE pairs only.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from service.core.clock import UNLIMITED, TimeLimit
from service.core.keys import columns
from service.core.partitioners.crc32 import CRC32
from service.core.partitioners.fnv1a import FNV1A
from service.core.partitioners.murmur2 import MURMUR2
from service.planner.attribution.equivalents import PartitionerClasses, hash_all
from service.planner.attribution.growth import evidence_of
from service.planner.attribution.mixtures import SIGNIFICANCE
from service.planner.attribution.observations import NO_KEY, KeyObservations
from service.planner.attribution.transformations import Transformation, texts_of, transformations, transformed

SAMPLE: Final = 128
"""Pairs with which a transformation is tried."""

COUNTS: Final = (4096, 512)
"""Most partition counts that are tried, the smallest possible ones; with a transformation that is one of many, the second."""

COMMON: Final = (MURMUR2, CRC32, FNV1A)
"""The hashes of the clients whose serializers write schema ids."""


def find_serialization(
    classified: PartitionerClasses,
    observations: KeyObservations,
    partitions_counts: range,
    schema_ids: Sequence[int] | None,
    hypotheses: int,
    check_time: TimeLimit = UNLIMITED,
) -> tuple[Transformation | None, int, int]:
    """The likeliest of all transformations that apply, if it explains more than chance; how many were tried; all hypotheses.

    classified : by what they do with bytes; hypotheses : the number of those tried before
    """
    rows = np.flatnonzero(observations.kinds != NO_KEY)[:SAMPLE]
    few, partitions = columns.rows_of(observations.column, rows), observations.partition_ids[rows]
    texts, plain = texts_of(few), columns.SERIALIZED.run(few, observations.key_format)
    all_counts = np.array(partitions_counts[: COUNTS[0]], np.int64)
    common = tuple(each for each in classified.classes if each.rule.hash in COMMON)
    best, likeliest, tried = 0.0, None, 0
    for transformation in transformations(schema_ids) if texts else ():
        check_time()
        column = transformed(transformation, texts)
        if column is None or (np.array_equal(column.offsets, plain.offsets) and np.array_equal(column.data, plain.data)):
            continue
        counts = all_counts[: COUNTS[transformation.is_one_of_many]]
        classes, tried = common if transformation.is_one_of_many else classified.classes, tried + 1
        hypotheses += len(classes) * len(counts)
        if classes:
            evidence = float(evidence_of(hash_all(classes, column, "bytes").dividends(), partitions, counts).min())
            best, likeliest = min((best, likeliest), (evidence, transformation), key=lambda each: each[0])
    return likeliest if best <= math.log(SIGNIFICANCE / hypotheses) else None, tried, hypotheses


TEXT_BYTES, DATA_BYTES = 160, 4
"""Memory for each pair, and for each byte of its key, while keys are transformed."""


def serialized(
    observations: KeyObservations, transformation: Transformation, reserve: Callable[[int], None]
) -> KeyObservations | None:
    """The observations with the keys' other bytes; None if the transformation does not apply to each of them.

    reserve : is called with the memory that this takes
    """
    reserve(TEXT_BYTES * observations.pairs + DATA_BYTES * columns.data_bytes(observations.column))
    column = transformed(transformation, texts_of(observations.column))
    return None if column is None else replace(observations, column=column, key_format="bytes")
