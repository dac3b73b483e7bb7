"""``trace``: a key → its partition, the brokers that hold it, and who reads it."""

from io import BufferedReader
from typing import Any, Final

import click

from service import parameters
from service.cli import GroupedCommand, ask, printed, read_input
from service.cli.descriptions import reading
from service.cli.terminal import Console
from service.http.json.codec import loads
from service.parameters import Parsed

PATH: Final = "/v1/key-traces"


def _topic(text: str) -> dict[str, Any]:
    name, colon, count = text.partition(":")
    return {"topic_name": name, **({"partitions_count": int(count)} if colon else {})}


TOPIC: Final = Parsed("topic", _topic, "a topic, or a topic and its number of partitions, such as orders:12")


@click.command(cls=GroupedCommand)
@click.argument("key")
@click.argument("files", metavar="[FILE]...", type=click.File("rb"), nargs=-1)
@click.option(
    "--topic", type=TOPIC, help="Topic of the key, with its partitions if no FILE tells: orders:12. Default: the only one."
)
@click.option("--partitioner", help="Partitioner of the client, such as librdkafka. Default: java.")
@click.option("--key-format", help="Serializer of the key, such as long. Default: string.")
@click.option("--group", "group_id", help="Group that reads. Default: all that read the topic.")
@click.option("--planned-partitions", "planned_partitions_count", type=int, help="Partitions that the topic is to have.")
@click.option("--planned-members", "planned_members_count", type=int, help="Members that the group is to have.")
@click.option("--reassignment", type=click.File("rb"), help="Planned reassignment: Kafka's JSON.")
@parameters.OUTPUT
def trace(
    *, key: str, files: tuple[BufferedReader, ...], topic: dict[str, Any] | None, reassignment: BufferedReader | None,
    output: str | None, **fields: Any,
) -> None:  # fmt: skip
    """Follow a key to its partition, the brokers that hold it, and the members that read it; also after a planned change.

    partition-allocator trace order-1 topics.txt members.txt --topic orders

    FILE is a snapshot, or output of Kafka's tools; several are merged.
    """
    if reassignment is not None:
        fields["reassignment"] = reading.parsed(read_input(reassignment))
    body = {name: value for name, value in {**fields, **(topic or {})}.items() if value is not None}
    body |= {"key": parameters.key(key, fields["key_format"]), "texts": [reading.text(file) for file in files]}
    form = parameters.form(output)
    answer = ask(PATH, body, form)
    if not printed(answer, form):
        document, console = loads(answer), Console()
        console.say(document["conclusion"], *document["warnings"])
