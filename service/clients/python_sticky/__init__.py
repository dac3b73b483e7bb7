"""The Python stickies."""

from dataclasses import dataclass

# What sets the Python libraries' sticky assignors apart.


@dataclass(frozen=True)
class Library:
    """A sticky assignor of a Python library.

    name : the library
    undoes : where another partition goes back in its stead, does a partition return to where it came from as well (reassign.py)?
    sorts : does a member send its topics and ids in ascending order, and no generation?
    key_error : the message of the KeyError with which it fails on a member that has been set aside; {!r} stands for the member_id
    no_members : the exception that it throws for a group without members, and its message
    rejoins : can a member that has been in the group join it again?
    """

    name: str
    undoes: bool
    sorts: bool
    key_error: str
    no_members: tuple[str, str]
    rejoins: bool = True
