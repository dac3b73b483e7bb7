"""Strategies by name: the built-in table of each kind, and what plug-ins add through entry points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from service.core.errors import UnknownStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Strategy:
    """One way to answer a question.

    name : what a request calls it
    run : the pure function that answers
    reproduces : the class, release and setting whose answers these are
    summary : one sentence for a reader of the list
    """

    name: str
    run: Callable[..., Any]
    reproduces: str
    summary: str


S = TypeVar("S", bound=Strategy)


class Registry(Generic[S]):
    """The strategies of one kind: a literal table, then the plug-ins of an entry-point group.

    Plug-ins are loaded when first asked for. One that takes a built-in's name is refused.
    """

    def __init__(self, kind: str, group: str, builtins: tuple[S, ...]) -> None:
        self.kind = kind
        self.group = group
        self.builtins = builtins

    @cached_property
    def _by_name(self) -> dict[str, S]:
        table = {strategy.name: strategy for strategy in self.builtins}
        for entry_point in entry_points(group=self.group):
            strategy = entry_point.load()
            if strategy.name in table:
                raise ValueError(f"the plug-in {entry_point.value} takes the name of the {self.kind} {strategy.name!r}")
            table[strategy.name] = strategy
        return table

    def __getitem__(self, name: str) -> S:
        """The strategy of that name; raises UnknownStrategy, which lists the known ones."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownStrategy(self.kind, name, tuple(self._by_name)) from None

    def __iter__(self) -> Iterator[S]:
        return iter(self._by_name.values())
