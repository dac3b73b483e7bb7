"""The description of an assignor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from service.core.model import Assignment, Group
from service.core.registry import Strategy


@dataclass(frozen=True)
class Assignor(Strategy):
    """One way to assign a group.

    explain : how ``run`` arrived at its answer, as a JSON object: ``(group, its answer, most entries of a list)``; None if
        there is nothing to explain
    warnings : sentences that a reader of the answer to a group must know; None if there never are any
    setting : what selects it in the configuration of its client
    is_default : does its client use it, or put it first, if nothing is configured?
    is_timed : does ``run`` take ``check_time``, which it calls now and then, and ``reserve``, which it tells the bytes that it is
        about to allocate beyond what any assignment takes? Both raise what ends it
    on_racks : ``run`` with franz-go's ``BalanceRacks``; None if it has no such option
    """

    explain: Callable[[Group, Assignment, int], dict[str, Any]] | None = None
    warnings: Callable[[Group], list[str]] | None = None
    setting: str = ""
    is_default: bool = False
    is_timed: bool = False
    on_racks: Callable[[Group], Assignment] | None = None
