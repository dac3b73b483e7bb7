"""``--help``: the options of a command in groups, and its example on a line of its own."""

from collections.abc import Iterable
from inspect import cleandoc
from typing import Any, Final

import click

EXAMPLE: Final = "partition-allocator "
"""How the paragraph of a docstring begins that is the command's example."""

GROUPS: Final = {
    "Input": "snapshots file topics topic_name topic_names members group group_id group_ids group_protocol client client_version "
    "rack racks racks_of racks_count brokers file_format read_options where select key_format key_separator strict random_seed "
    "starting_offsets ending_offsets schema_ids bootstrap_server command_config with_offsets_topic",
    "Limits": "disk_threshold tolerance moves_per_broker moves_per_log_dir moves_per_batch bytes_in_flight min_insync_replicas "
    "throttle_bytes_per_second throttle_utilization batch_seconds order time_limit seconds",
    "Output": "output detail out folder into svg html explain frontier examples hottest_keys price_per_gb host port metrics_port "
    "verbose run_id append tables",
}
"""Group → the parameters in it; those of a column are input, and those named ``max_…`` limits. All others are what is asked."""


HYPHEN: Final = "\N{NON-BREAKING HYPHEN}"


class _Formatter(click.HelpFormatter):
    """Breaks no line within a word, such as the name of a tool."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, text.replace("-", HYPHEN)) for name, text in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(HYPHEN, "-")


class HelpContext(click.Context):
    """Of the commands and of the groups of commands."""

    formatter_class = _Formatter


class GroupedCommand(click.Command):
    """A command whose options are grouped in ``--help``."""

    context_class = HelpContext

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        parts = cleandoc(self.help or "").split("\n\n")
        self.help = "\n\n".join(f"\b\n{part}" if part.startswith(EXAMPLE) else part for part in parts)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each group that has options."""
        sections: dict[str, list[tuple[str, str]]] = {"What is asked": [], **{group: [] for group in GROUPS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                sections["Output" if "--help" in parameter.opts else _group(parameter.name or "")].append(record)
        for group, records in sections.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def _group(name: str) -> str:
    """The group of a parameter."""
    if name.startswith("max_"):
        return "Limits"
    if name.endswith(("_column", "_columns")):
        return "Input"
    return next((group for group, names in GROUPS.items() if name in names.split()), "What is asked")
