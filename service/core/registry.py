"""Strategies by name: the built-in table of each kind, and what plug-ins add through entry points.

A plug-in is an installed distribution with an entry point in the group of a kind; the entry point's name is the strategy's name.
It is imported when its name is first used, or when the strategies are listed. A plug-in that cannot be loaded is left out of the
lists, with one warning in the log, and does not affect other names. A built-in's name stays the built-in's.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Generic, Self, TypeVar

from service.core.errors import LONGEST_NAME, AllocatorError, InvalidQuestion, PluginBrokeARule, PluginFailed, UnknownStrategy
from service.core.kafka_versions import RELEASES, since
from service.core.printable import LONGEST, words

# Modules that are imported when one of their functions is first called, so that a table of strategies imports none of them.

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


# Releases of clients as people write them: 2.12.1, v1.61.1, and 1.9 for any release that begins so.

_RELEASE: Final = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,3})")


def numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release; raises ValueError for a text that is none."""
    match = _RELEASE.fullmatch(release)
    if match is None:
        raise ValueError(f"{release!r} is not a release")
    return tuple(map(int, match[1].split(".")))


def reaches(release: str, first: str) -> bool:
    """Is the release this one or a later one? A shorter release is as late as it may be: 1.9 reaches 1.9.2."""
    version = numbers(release)
    return numbers(first)[: len(version)] <= version


def exceeds(release: str, last: str) -> bool:
    """Is every release that begins so later than this one?"""
    return numbers(release) > numbers(last)


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Implementation:
    """The code whose answers a strategy gives.

    client : the library, or the part of Kafka: java (kafka-clients), broker, controller, tools, librdkafka …
    release : the newest release of it that answers so
    symbol : the class or function there
    """

    client: str
    release: str
    symbol: str


@dataclass(frozen=True)
class Strategy:
    """One way to answer a question.

    name : its name in requests
    run : the pure function that answers
    summary : one sentence for a reader of the list
    implementation : the code whose answers these are; None: no client's. A plug-in's is its own, unless it says otherwise
    aliases : other names that a request may call it, such as the Java class in people's configuration
    forms : how releases have it: first release → the fields that differ from this strategy's. They are releases of Kafka, or
        of the client if ``client_releases`` has any; None instead of fields: they have it not, or it was not compared. Empty:
        no release plays a part
    client_releases : the releases of its client that were compared, oldest first; the newest is that of ``implementation``
    """

    name: str
    run: Callable[..., Any]
    summary: str
    implementation: Implementation | None = field(default=None, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    forms: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict, kw_only=True)
    client_releases: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def implementation_fields(self) -> dict[str, str | None]:
        """Client, release and symbol of the implementation; all None for a strategy that is no client's."""
        return {each.name: getattr(self.implementation, each.name, None) for each in fields(Implementation)}

    @property
    def kafka_versions(self) -> tuple[str, ...]:
        """The releases of Kafka whose answers it can give, oldest first."""
        if not self.forms or self.client_releases:
            return RELEASES
        return tuple(each for each in since(min(self.forms, key=RELEASES.index)) if self._form(each) is not None)

    def _form(self, kafka_version: str) -> Mapping[str, Any] | None:
        first = max((first for first in self.forms if kafka_version in since(first)), key=RELEASES.index)
        return self.forms[first]

    def at(self, kafka_version: str) -> Self:
        """Its form in a release of Kafka; raises InvalidQuestion, which lists the releases that it supports."""
        known = self.kafka_versions
        if kafka_version not in known:
            detail = f"{self.name} does not support Kafka {kafka_version}; it supports {', '.join(known)}."
            raise InvalidQuestion(detail, "kafka_version")
        if not self.forms or self.client_releases:
            return self
        changes = dict(self._form(kafka_version) or {})
        if self.implementation is not None and kafka_version not in since(self.implementation.release):
            changes["implementation"] = replace(self.implementation, release=kafka_version)
        return replace(self, **changes) if changes else self

    def of_client(self, release: str) -> Self:
        """Its form in a release of its client; raises InvalidQuestion for one that is not between those compared."""
        known = self.client_releases
        if not known:
            raise InvalidQuestion(f"{self.name} is not of a client whose releases were compared.", "client_version")
        try:
            unknown = exceeds(release, known[-1]) or not reaches(release, known[0])
        except ValueError:
            unknown = True
        if unknown:
            span = f"{known[0]} to {known[-1]}" if len(known) > 1 else f"{known[0]} only"
            detail = f"{self.name} was compared with {span}, not with {release[:LONGEST_NAME]!r}."
            raise InvalidQuestion(detail, "client_version")
        if not self.forms:
            return self
        firsts = sorted(self.forms, key=numbers)
        first = max((each for each in firsts if reaches(release, each)), key=numbers)
        changes = dict(self.forms[first] or {})
        later = firsts[firsts.index(first) + 1 :]
        if later and self.implementation is not None:
            newest = [each for each in known if not reaches(each, later[0])][-1]
            changes.setdefault("implementation", replace(self.implementation, release=newest))
        return replace(self, **changes) if changes else self

    @property
    def described(self) -> str:
        """Words by which people may call it instead of its name."""
        return ""


class BrokenRule(Exception):
    """A plug-in's answer breaks a rule of its interface; ``str()`` says which, and for which partition or member."""


@dataclass(frozen=True)
class Plugin:
    """The origin of a strategy that is not built in, as errors name it.

    kind : "partitioner", "assignor" or "placer"
    distributions : name and version of the installed distributions that have such an entry point; more than one is an error
    """

    kind: str
    name: str
    distributions: tuple[str, ...]

    def __str__(self) -> str:
        return f"The {self.kind} plug-in {self.name!r} ({', '.join(self.distributions)})"

    def guarded(self, function: Callable[..., Any], check: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """``function``, whose faults are errors that name the plug-in.

        check : ``check(answer, *arguments)`` returns the answer in the form that the core works with, or raises BrokenRule
        The result raises PluginFailed, PluginBrokeARule, and the core's errors that ``function`` itself raises as its refusals.
        """

        def call(*arguments: Any) -> Any:
            try:
                answer = function(*arguments)
                return answer if check is None else check(answer, *arguments)
            except AllocatorError:
                raise
            except BrokenRule as rule:
                raise PluginBrokeARule(str(self), f"broke a rule: {rule}.") from None
            except Exception as error:
                raise PluginFailed(str(self), f"raised {type(error).__name__}: {error}") from error

        return call


S = TypeVar("S", bound=Strategy)


def released(builtins: Sequence[S], name: str | None, version: str | None) -> tuple[S, str]:
    """An assignor of a table that takes no plug-ins, and the release it answers as; None: the first, and its newest release.

    Raises UnknownStrategy, and InvalidQuestion for a release that it was not compared with.
    """
    by_name = {each.name: each for each in builtins}
    name = name or builtins[0].name
    if name not in by_name:
        raise UnknownStrategy("assignor", name, tuple(by_name))
    version = version or by_name[name].kafka_versions[-1]
    return by_name[name].at(version), version


class Registry(Generic[S]):
    """The strategies of one kind: a literal table, then the plug-ins of an entry-point group.

    guard : ``guard(strategy, plugin)`` returns a plug-in's strategy with its functions guarded; raises whatever is wrong with it
    """

    def __init__(self, kind: str, group: str, builtins: tuple[S, ...], guard: Callable[[S, Plugin], S]) -> None:
        self.kind = kind
        self.group = group
        self.builtins = builtins
        self._builtins = {strategy.name: strategy for strategy in builtins}
        self._aliases = {alias: strategy.name for strategy in builtins for alias in strategy.aliases}
        self._guard = guard
        self._loaded: dict[str, S | str] = {}

    @cached_property
    def _entry_points(self) -> dict[str, tuple[Plugin, EntryPoint]]:
        """The plug-ins by name, not imported."""
        by_name: dict[str, list[EntryPoint]] = {}
        for entry_point in entry_points(group=self.group):
            by_name.setdefault(entry_point.name, []).append(entry_point)
        plugins = {}
        for name, providers in by_name.items():
            distributions = tuple(f"{one.dist.name} {one.dist.version}" if one.dist else one.value for one in providers)
            plugin = Plugin(self.kind, name, distributions)
            if name in self._builtins:
                _log.warning("%s is left out: %r is a built-in %s.", plugin, name, self.kind)
            else:
                plugins[name] = (plugin, providers[0])
        return plugins

    def names(self) -> tuple[str, ...]:
        """Every name, the built-ins' first. Imports no plug-in, so one of them may prove to be broken."""
        return (*self._builtins, *self._entry_points)

    def full_name(self, name: str) -> str:
        """The name that an alias stands for, unless a plug-in has taken it; any other name as it is."""
        return name if name in self._builtins or name in self._entry_points else self._aliases.get(name, name)

    def __getitem__(self, name: str) -> S:
        """The strategy of that name or alias; raises UnknownStrategy, which suggests known ones, and PluginFailed."""
        name = self.full_name(name)
        if name in self._builtins:
            return self._builtins[name]
        if name not in self._entry_points:
            raise UnknownStrategy(self.kind, name, self.names(), self._likely(name), self._aliases)
        strategy = self._load(name)
        if isinstance(strategy, str):
            raise PluginFailed(str(self._entry_points[name][0]), strategy)
        return strategy

    def _likely(self, name: str) -> tuple[str, ...]:
        """The built-ins that an unknown name may mean; a name is ``client:part``, or the ``part`` of any client.

        First one that the part describes, then those with this part of any client, then the others that it describes.
        """
        if len(name) > LONGEST:
            return ()
        same = tuple(each.name for each in self.builtins if each.name.lower() == name.lower())
        client, _, part = name.lower().rpartition(":")
        of_client = [each for each in self.builtins if each.name.partition(":")[0] == client] or self.builtins
        described: dict[str, str] = {}  # by client
        for each in of_client:
            by_words = each.described and words(part) and words(part) <= words(each.described)
            if by_words or any(alias in part for alias in each.aliases):
                described.setdefault(each.name.partition(":")[0], each.name)
        first, *others = described.values() or [""]
        named = [each.name for each in of_client if ":" in each.name and each.name.rpartition(":")[2] == part]
        return same or tuple(filter(None, dict.fromkeys([first, *named, *others])))[:3]

    def __iter__(self) -> Iterator[S]:
        """The built-ins, then every plug-in that can be loaded."""
        yield from self.builtins
        for name in self._entry_points:
            strategy = self._load(name)
            if not isinstance(strategy, str):
                yield strategy

    def _load(self, name: str) -> S | str:
        """The plug-in's strategy, or why there is none; imported, and a failure logged, once in a process."""
        if name not in self._loaded:
            plugin, entry_point = self._entry_points[name]
            try:
                self._loaded[name] = self._read(plugin, entry_point)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - what a module raises when it is imported can be anything
                self._loaded[name] = fault = f"cannot be loaded: {type(error).__name__}: {error}"
                _log.warning("%s %s", plugin, fault)
        return self._loaded[name]

    def _read(self, plugin: Plugin, entry_point: EntryPoint) -> S:
        if len(plugin.distributions) > 1:
            raise ValueError("more than one distribution has this name")
        strategy = entry_point.load()
        expected = type(self.builtins[0])
        if not isinstance(strategy, expected):
            raise TypeError(f"{entry_point.value} must be of the type {expected.__name__}, not {type(strategy).__name__}")
        if strategy.name != plugin.name:
            raise ValueError(f"the name of the entry point differs from that of the {expected.__name__}, {strategy.name!r}")
        for each in fields(strategy):
            value = getattr(strategy, each.name)
            kind = "str" if each.type is str else str(each.type)  # a text in modules that postpone annotations
            texts = {"str": (value,), "tuple[str, ...]": value}.get(kind, ())
            if not all(isinstance(text, str) for text in texts):
                raise TypeError(f"{each.name} must be {kind}, not {value!r}")
        if strategy.implementation is None:
            client, _, release = plugin.distributions[0].partition(" ")
            strategy = replace(strategy, implementation=Implementation(client, release, entry_point.value))
        return self._guard(strategy, plugin)
