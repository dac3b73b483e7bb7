"""One job at a time in a folder of results, where a second one would replace tables of the first.

The lock is an ``flock`` on a file in the folder. The kernel releases it however the process ends, so there are no stale locks,
and file systems that share locks between machines (NFS 4, CephFS) share this one. A URL (``s3a://…``) is not locked: object
stores have no locks, and a marker would outlive a killed job.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path

from service.report.folders import LOCK, REPORT, WrongFolder, local_folder, tables


@contextmanager
def exclusive(into: str) -> Iterator[None]:
    """Keep other jobs out of the folder ``into``, which is created. Raises WrongFolder if another job writes to it.

    The locked file names the process that holds the lock.
    """
    folder = local_folder(into)
    if folder is None:
        yield
        return
    created = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _locked(folder / LOCK, into)
    except OSError as error:
        raise WrongFolder(f"{into}: Cannot create or lock the folder of the results: {error.strerror}") from None
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
        file.flush()
        try:
            yield
        finally:
            if (folder / REPORT).exists() or not tables(folder):
                (folder / LOCK).unlink(missing_ok=True)
            if created and not any(folder.iterdir()):
                folder.rmdir()  # the job has failed


def _locked(path: Path, into: str) -> TextIOWrapper:
    """The file, open and locked. Raises WrongFolder if another process has locked it, and OSError."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            with file:
                if not isinstance(error, BlockingIOError):
                    raise
                file.seek(0)
                holder = file.read() or "just started"
            raise WrongFolder(f"{into}: Another job is writing to this folder ({holder}); set --into to another one.") from None
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # the job that held the lock has just removed the file
