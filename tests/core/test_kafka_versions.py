"""Every strategy answers for the releases that it is known to, as those do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.core.errors import InvalidQuestion
from service.core.kafka_versions import LATEST, RELEASES
from service.strategies import GROUP_PROTOCOLS, PLACERS

ASSIGNORS = [
    pytest.param(protocol, assignor, id=f"{protocol}-{assignor.name}")
    for protocol, assignors in GROUP_PROTOCOLS.items()
    for assignor in assignors
]


@pytest.mark.parametrize(("protocol", "assignor"), ASSIGNORS)
def test_the_newest_release_is_answered_by_the_assignor_on_offer(protocol, assignor):
    assert assignor.at(LATEST) is assignor
    oldest = RELEASES[0] if ":" in assignor.name else {"classic": "2.4.1", "consumer": "4.0.0", "share": "4.2.0"}[protocol]
    assert assignor.kafka_versions[0] == oldest


def test_uniform_changed_in_4_0_1():
    uniform = GROUP_PROTOCOLS["consumer"]["uniform"]
    assert uniform.at("4.0.0").run is not uniform.run
    assert uniform.at("4.0.1").run is uniform.run
    assert [uniform.at(release).implementation.release for release in ("4.0.0", "4.3.1", "4.4.0")] == ["4.0.0", "4.3.1", "4.4.0"]


def test_sticky_assignors_of_older_releases_have_forms_of_their_own():
    for name in ("sticky", "cooperative-sticky"):
        assignor = GROUP_PROTOCOLS["classic"][name]
        former = [assignor.at(release).run for release in ("2.4.1", "2.8.2", "3.4.1")]
        assert len({*former, assignor.run}) == 4
        assert assignor.at("3.9.1").run is assignor.run
    ranges = GROUP_PROTOCOLS["classic"]["range"]
    assert ranges.at("2.4.1").run is ranges.at("3.4.1").run is not ranges.run


def test_releases_that_were_not_compared_are_not_offered():
    assert PLACERS["rack-aware"].kafka_versions == RELEASES
    assert PLACERS["striped"].kafka_versions[:2] == ("3.4.1", "3.9.1")
    with pytest.raises(InvalidQuestion, match=r"supports 3\.4\.1, 3\.9\.1, "):
        PLACERS["striped"].at("2.8.2")


def test_a_class_that_kafka_has_removed_keeps_its_last_release():
    assert PLACERS["rack-aware"].at(LATEST).implementation.release == "4.0.2"
    assert PLACERS["rack-aware"].at("0.10.2.1").implementation.release == "0.10.2.1"


def test_the_release_of_kafka_plays_no_part_for_what_is_not_kafkas():
    balanced = PLACERS["balanced"]
    assert balanced.kafka_versions == RELEASES
    assert all(balanced.at(release) is balanced for release in RELEASES)


@pytest.mark.parametrize("version", ["3.9.1", "4.1.1", "5.0.0", ""])
def test_an_unknown_release_is_rejected_with_the_known_ones(version):
    with pytest.raises(InvalidQuestion, match=r"it supports 4\.2\.0, 4\.2\.1, 4\.3\.0, 4\.3\.1, 4\.4\.0") as refusal:
        GROUP_PROTOCOLS["share"]["simple"].at(version)
    assert refusal.value.field == ("kafka_version",)


def test_forms_name_releases_that_exist():
    with pytest.raises(ValueError, match="not in tuple"):
        _ = replace(PLACERS["striped"], forms={"9.9.9": {}}).kafka_versions
