"""Modules that are imported when one of their functions is first called, so that a table of strategies imports none of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

_imported = cache(import_module)
"""A module by its full name; Python's own look-up is a fortieth of a rebalance of a small group."""


@dataclass(frozen=True)
class Later:
    """A module to be imported later; its attributes are its functions. module : its full name"""

    module: str

    def __getattr__(self, name: str) -> "LaterFunction":
        """The function of that name, which is not looked up yet."""
        if name.startswith("__"):
            raise AttributeError(name)
        return LaterFunction(self.module, name)


@dataclass(frozen=True)
class LaterFunction:
    """A function of a module to be imported later; equal to another of the same name, as strategies are compared."""

    module: str
    name: str

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """As the function."""
        return self.__wrapped__(*arguments, **options)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function itself, whose signature is that of this one."""
        function: Callable[..., Any] = getattr(_imported(self.module), self.name)
        return function
