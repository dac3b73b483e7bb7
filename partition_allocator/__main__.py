"""The command ``partition-allocator``, also as ``python -m partition_allocator``."""

import os
import sys

from partition_allocator.installation import check


def main() -> None:
    """Run the command line, or say in one sentence why it cannot be imported."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - open as long as the process
    try:
        check()
        from service.cli import main as run  # noqa: PLC0415 - after the check
    except ImportError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)  # 1 is for limits that are exceeded
    except KeyboardInterrupt:
        sys.exit(130)
    run(prog_name="partition-allocator")


if __name__ == "__main__":
    main()
