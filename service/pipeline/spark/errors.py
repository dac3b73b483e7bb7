"""Why a job does not start, or fails.

::

    AllocatorError
    └── PipelineError          str() is a sentence for the user, with the remedy
        ├── NoSpark            no PySpark, no Java, no cluster
        ├── WrongSource        a source cannot be read
        └── JobFailed          Spark failed; the reason is the innermost cause
"""

from service.core.errors import AllocatorError


class PipelineError(AllocatorError):
    """A job that cannot run, with the reason and the remedy."""


class NoSpark(PipelineError):
    """Spark cannot start or cannot be reached."""


class WrongSource(PipelineError):
    """A source that does not exist, lacks columns that the job needs, or does not answer."""


class JobFailed(PipelineError):
    """Spark failed the job."""
