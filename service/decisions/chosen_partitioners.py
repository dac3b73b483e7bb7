"""The partitioners that a question names."""

from collections.abc import Iterator, Sequence

from service.core.errors import InvalidQuestion, UnknownStrategy, raise_all
from service.core.partitioners import PARTITIONERS, Partitioner


def chosen(names: Sequence[str] | None) -> list[Partitioner]:
    """The partitioners of a question's ``partitioners``; None: every one.

    Raises InvalidQuestion for one that does not exist, and for one that is listed twice, by whichever of its names.
    """
    if names is None:
        return list(PARTITIONERS)
    raise_all(_faults([*map(PARTITIONERS.full_name, names)]))
    return [PARTITIONERS[name] for name in names]


def _faults(names: Sequence[str]) -> Iterator[InvalidQuestion]:
    for i, name in enumerate(names):
        try:
            PARTITIONERS[name]
        except UnknownStrategy as error:
            error.field = ("partitioners", i)
            yield error
        if name in names[:i]:
            yield InvalidQuestion(f"Duplicate partitioner {name!r}.", "partitioners", i)
