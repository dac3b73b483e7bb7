"""The command line: start the server, or answer one request from options, a file or standard input.

Each command asks by the service's own form (``asking.py``), so its answer is exactly the service's. On a terminal it prints a
table, otherwise JSON. A command's module is imported when the command runs, so that ``--help`` loads no kernels.
"""

from importlib import import_module
from typing import Final

import click

from service import __version__
from service.cli.errors import PrintableGroup

COMMANDS: Final = {
    "assign": ("service.cli.decisions", "Assign partitions to the members of a group."),
    "audit": ("service.cli.reassignments.checks", "Check whether Kafka could have placed topics this way."),
    "body": ("service.cli.descriptions.body", "Print a request, or write tables, made from a description of a cluster."),
    "check": ("service.cli.reassignments.checks", "Check which partitions of a cluster are at risk."),
    "compare": ("service.cli.keys.partitioners", "Show the share of the records on which each pair of partitioners agrees."),
    "conform": ("service.cli.conform", "Compare a program's answers with those of Kafka and its clients."),
    "fingerprint": ("service.cli.keys.partitioners", "Identify the partitioners that wrote the records."),
    "history": ("service.cli.history", "Tell what happened to a group, from logs and records."),
    "lint": ("service.cli.reassignments.checks", "Check a reassignment."),
    "log-dirs": ("service.cli.reassignments.log_dirs", "Plan moves between the disks of brokers."),
    "member-counts": ("service.cli.member_counts", "Plan how many members a group needs."),
    "partitions": ("service.cli.decisions", "Compute the partition of each key."),
    "pipeline": ("service.cli.pipeline", "Analyse records and logs of any size on Spark."),
    "place": ("service.cli.decisions", "Place replicas on brokers."),
    "plan": ("service.cli.keys.plan", "Compare partition counts for a topic."),
    "reassign": ("service.cli.reassignments.reassign", "Plan a reassignment."),
    "rebalances": ("service.cli.rebalances.command", "Simulate the rebalances of a group."),
    "serve": ("service.cli.serve", "Start the HTTP server."),
    "snapshot": ("service.cli.live.snapshot", "Describe a live cluster as JSON."),
    "splits": ("service.cli.decisions", "Divide partitions among readers that form no group."),
    "token": ("service.cli.serve", "Create a bearer token for NAME."),
    "trace": ("service.cli.keys.trace", "Follow a key to its partition, brokers and readers."),
    "upgrade": ("service.cli.descriptions.upgrade", "Show what an upgrade of clients or brokers changes."),
    "verify": ("service.cli.live.verify", "Compare a cluster with what Kafka would decide."),
    "watch": ("service.cli.live.watch", "Serve metrics of a live cluster."),
}
"""Command → the module that has it under its own name, and its line in ``--help``."""

ROOMS: Final = {
    "Consumer groups": ("assign", "member-counts", "rebalances", "history", "upgrade"),
    "Keys and topics": ("partitions", "trace", "plan", "compare", "fingerprint"),
    "Brokers": ("check", "reassign", "log-dirs", "lint", "place", "audit"),
    "A live cluster": ("snapshot", "verify", "watch"),
    "A server, and Spark": ("serve", "pipeline"),
    "More": ("body", "conform", "splits", "token"),
}
"""The sections of ``--help``."""


class Commands(PrintableGroup):
    """The commands of COMMANDS, imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, and those of commands added by ``add_command``."""
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by what they are for, without importing them."""
        rooms = {**ROOMS, "Added": tuple(sorted(super().list_commands(ctx)))}
        for room, names in rooms.items():
            lines = [COMMANDS[name][1] if name in COMMANDS else self.commands[name].get_short_help_str(80) for name in names]
            if names:
                with formatter.section(room):
                    formatter.write_dl(list(zip(names, lines, strict=True)))


@click.group(cls=Commands)
@click.version_option(__version__)
def main() -> None:
    """What Kafka does with keys, consumer groups and replicas: key → partition → consumer, replica → broker.

    partition-allocator rebalances group.txt --scale 8

    COMMAND --help has an example of each. FILE may be output of Kafka's tools, as it is.

    Exit status: 0 for an answer, 1 if a limit is exceeded, a plan has an error, a cluster differs or a partition is
    at risk, 2 for invalid input; verify exits with 3 if a named group or topic was not found.
    """
