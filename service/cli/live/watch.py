"""``watch``: a snapshot of a live cluster every so often → Prometheus metrics."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from prometheus_client import CollectorRegistry, start_http_server

from service.cli import GroupedCommand
from service.cli.live.snapshot import CLUSTER, cluster_client, connection, extent_of
from service.decisions.member_counts.answer import Need
from service.http.json.codec import dumps
from service.live.cluster_metrics import Bounds, ClusterCollector, Samples, measure, measure_keys
from service.parameters import DURATION, duration

if TYPE_CHECKING:
    from pathlib import Path

    from service.live.client import ClusterClient
    from service.live.snapshot import SnapshotExtent


@click.command(cls=GroupedCommand)
@CLUSTER
@click.option("--interval", type=duration(1, 86400), default="1m", show_default=True, help="Time between snapshots.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of the metrics endpoint.")
@click.option("--port", type=click.IntRange(0, 65535), default=9464, show_default=True, help="Port of the metrics endpoint.")
@click.option(
    "--sample-keys", type=click.IntRange(1, 100_000), help="Number of records to read from each topic of --topic. Default: none."
)
@click.option("--max-topics", type=click.IntRange(0), default=200, show_default=True, help="Topics with series of their own.")
@click.option("--max-groups", type=click.IntRange(0), default=200, show_default=True, help="Groups with series of their own.")
@click.option("--max-members", type=click.IntRange(0), default=500, show_default=True, help="Members with series of their own.")
@click.option("--consumption-rate", type=click.FloatRange(0, min_open=True), help="Records that a member processes per second.")
@click.option("--max-lag", type=DURATION, help="How long every member may take to process its lag: 60s. With --consumption-rate.")
def watch(
    *, bootstrap_server: str | None, command_config: Path | None, topic_names: tuple[str, ...], group_ids: tuple[str, ...],
    with_offsets_topic: bool, time_limit: float, interval: float, host: str, port: int, sample_keys: int | None,
    max_topics: int, max_groups: int, max_members: int, consumption_rate: float | None, max_lag: int | None,
) -> None:  # fmt: skip
    """Serve metrics of a live cluster.

    partition-allocator watch --bootstrap-server broker:9092

    Takes a snapshot every --interval and serves its skew, lag and moves as Prometheus metrics. If the cluster cannot be
    reached, partition_allocator_cluster_up is 0, and the next snapshot tries again.
    """
    if sample_keys and not topic_names:
        raise click.UsageError("--sample-keys reads records: name the topics by --topic.")
    if (consumption_rate is None) != (not max_lag):
        raise click.UsageError("--consumption-rate and --max-lag must be set together.")
    extent = extent_of((), group_ids, with_offsets_topic=with_offsets_topic)
    connection(bootstrap_server, command_config)  # options that are wrong from the start end the command, and say so first
    watcher = _Watcher(
        (bootstrap_server, command_config, time_limit),
        extent,
        Bounds(max_topics, max_groups, max_members, topic_names),
        sample_keys or 0,
        Need(consumption_rate, max_lag / 1000) if consumption_rate and max_lag else None,
    )
    registry = CollectorRegistry()
    registry.register(watcher.collector)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise click.ClickException(f"{host}:{port}: {error.strerror}.") from None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, watcher.stop)
    _log("watching", url=f"http://{host}:{server.server_port}/metrics", interval_seconds=interval)
    with suppress(KeyboardInterrupt):
        watcher.run(interval)
    server.shutdown()
    _log("stopped")


class _Watcher:
    """Takes snapshots and remembers the last one, for rates, and the cluster's brokers.

    The next snapshot may begin at any of them, so that a bootstrap server that is gone does not end the watch.
    """

    def __init__(
        self,
        cluster: tuple[str | None, Path | None, float],
        extent: SnapshotExtent,
        bounds: Bounds,
        sample_keys: int,
        need: Need | None = None,
    ) -> None:
        self.collector = ClusterCollector()
        self._cluster = cluster
        self._cluster_id = ""
        self._addresses: tuple[str, ...] = ()
        self._extent, self._bounds, self._sample_keys, self._need = extent, bounds, sample_keys, need
        self._previous: tuple[float, dict[str, Any]] | None = None
        self._not_known: Any = None
        self._stopped = False

    def run(self, interval: float) -> None:
        """Look once every ``interval`` seconds, until ``stop``. Raises KeyboardInterrupt."""
        while not self._stopped:
            started = time.monotonic()
            self.look()
            if not self._stopped:
                time.sleep(max(0.0, started + interval - time.monotonic()))

    def stop(self, *_: object) -> None:
        """Handle a signal: interrupt whatever is under way."""
        self._stopped = True
        raise KeyboardInterrupt

    def look(self) -> None:
        """Take and measure one snapshot. Whatever goes wrong with the cluster is logged, and the next look tries again."""
        try:
            with cluster_client(*self._cluster, self._addresses, lambda: self._stopped) as client:
                if not self._addresses or client.cluster_id == self._cluster_id:
                    self._look(client)
                    return
            self._addresses = ()  # they are another cluster's by now, or the bootstrap servers are
            with cluster_client(*self._cluster, stopped=lambda: self._stopped) as client:
                self._look(client)
        except click.ClickException as error:
            self.collector.fail()
            self._previous = None  # and its brokers stay
            _log("no snapshot", reason=error.message)

    def _look(self, client: ClusterClient) -> None:
        from service.live.snapshot import take_snapshot  # noqa: PLC0415 - needs the Kafka client

        started, taken_at = time.monotonic(), time.time()
        snapshot = take_snapshot(client, self._extent)
        before, previous = self._previous or (0.0, None)
        samples = measure(snapshot, previous, started - before, self._bounds, self._need)
        if self._sample_keys:
            self._measure_keys(client, snapshot, samples)
        self._previous = started, snapshot
        self._cluster_id, self._addresses = client.cluster_id, client.addresses
        self.collector.succeed(samples, taken_at, time.monotonic() - started)
        if snapshot["not_known"] != self._not_known:
            self._not_known = snapshot["not_known"]
            _log("snapshot", brokers=len(snapshot["brokers"]), topics=len(snapshot["topics"]), not_known=self._not_known)

    def _measure_keys(self, client: ClusterClient, snapshot: dict[str, Any], samples: Samples) -> None:
        from service.live.errors import ClusterError  # noqa: PLC0415 - needs the Kafka client
        from service.live.records import sample_keys  # noqa: PLC0415

        for topic in snapshot["topics"]:
            if topic["topic_name"] in self._bounds.topic_names:
                try:
                    measure_keys(topic, sample_keys(client, topic, self._sample_keys), samples)
                except ClusterError as error:
                    _log("no sample", reason=str(error))


def _log(event: str, **details: Any) -> None:
    """One line of JSON, as the service logs."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    sys.stderr.write(dumps({"event": event, **details, "timestamp": now}).decode() + "\n")
    sys.stderr.flush()
