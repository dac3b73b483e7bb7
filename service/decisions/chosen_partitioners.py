"""The partitioners that a question names."""

from collections.abc import Iterator

from service.core.errors import InvalidQuestion, UnknownStrategy, raise_all
from service.core.partitioners import PARTITIONERS, Partitioner


def chosen(names: list[str] | None) -> list[Partitioner]:
    """The partitioners of a question's ``partitioners``; None: every one."""
    if names is None:
        return list(PARTITIONERS)
    raise_all(_faults(names))
    return [PARTITIONERS[name] for name in names]


def _faults(names: list[str]) -> Iterator[InvalidQuestion]:
    for i, name in enumerate(names):
        try:
            PARTITIONERS[name]
        except UnknownStrategy as error:
            error.field = ("partitioners", i)
            yield error
        if name in names[:i]:
            yield InvalidQuestion(f"Duplicate partitioner {name!r}.", "partitioners", i)
