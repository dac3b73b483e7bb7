"""The command ``partition-allocator``, also as ``python -m partition_allocator``."""

import sys

from partition_allocator.installation import check


def main() -> None:
    """Run the command line, or say in one sentence why it cannot be imported."""
    try:
        check()
    except ImportError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)  # 1 is for limits that are exceeded
    from service.cli import main as run  # noqa: PLC0415 - after the check

    run(prog_name="partition-allocator")


if __name__ == "__main__":
    main()
