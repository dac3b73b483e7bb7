"""Why a job does not start, or does not end.

::

    AllocatorError
    └── PipelineError          str() is a sentence for the user, and says what mends it
        ├── NoSpark            no PySpark, no Java, no cluster
        ├── WrongSource        what is to be read cannot be read
        └── JobFailed          Spark gave up; the reason is the innermost one
"""

from __future__ import annotations

from service.core.errors import AllocatorError


class PipelineError(AllocatorError):
    """A job that cannot be done, with the reason and the remedy."""


class NoSpark(PipelineError):
    """There is nothing to run the job on."""


class WrongSource(PipelineError):
    """A source that is not there, has not the columns that the job needs, or does not answer."""


class JobFailed(PipelineError):
    """Spark gave the job up."""
