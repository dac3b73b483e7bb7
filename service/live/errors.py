"""What can go wrong between this process and a cluster.

::

    ClusterError
    ├── WrongProperties      a properties file, or a store that it names, cannot be used
    └── Unreachable          no broker answers, or none accepts the credentials
"""


class ClusterError(Exception):
    """The base of these errors; its text is a sentence for the user."""


class WrongProperties(ClusterError):
    """A property cannot be used. The text names it."""


class Unreachable(ClusterError):
    """The cluster cannot be reached."""
