"""``frozen`` makes what ``dataclass(frozen=True)`` makes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields, replace
from inspect import signature

import pytest

from service.core.frozen import frozen


@dataclass(frozen=True, kw_only=True)
class _Base:
    by_name: int | None = None


class _Plain(_Base):
    first: int
    second: str = "b"


Slow = dataclass(frozen=True)(type("Slow", (_Base,), dict(vars(_Plain))))
Fast = frozen(type("Fast", (_Base,), dict(vars(_Plain))))


def test_a_frozen_class_is_a_frozen_dataclass():
    assert signature(Fast) == signature(Slow)
    for arguments, named in (((1,), {}), ((1, "c"), {"by_name": 3}), ((), {"first": 1, "second": "d"})):
        fast, slow = Fast(*arguments, **named), Slow(*arguments, **named)
        assert vars(fast) == vars(slow)
        assert fast == Fast(*arguments, **named) != replace(fast, first=9)
        assert hash(fast) == hash(slow)
    assert [each.name for each in fields(Fast)] == ["by_name", "first", "second"]
    with pytest.raises(FrozenInstanceError):
        Fast(1).first = 2
    with pytest.raises(TypeError, match="first"):
        Fast()
    with pytest.raises(TypeError):
        Fast(1, "b", 2)
