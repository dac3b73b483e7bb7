/** What people have at hand of a cluster's disks → parts of requests. */
import { json, picked, placement } from "./descriptions.js";

/** @typedef {{topic_name: string, partition_ids: number[], partition_bytes: number[]}} DirTopic */
/** @typedef {{log_dir: string, capacity_bytes?: number, used_bytes?: number, draining?: boolean, cordoned?: boolean, replicas: DirTopic[]}} LogDir */
/** @typedef {{broker_id: number, log_dirs: LogDir[]}} DiskBroker */
/** @typedef {{brokers?: DiskBroker[], topics?: import("./descriptions.js").PlacedTopic[]}} DiskPlacement */

/**
 * What is on which disk, and where replicas are, or one of both: a snapshot or a request has both, `kafka-log-dirs` the first,
 * `kafka-topics --describe` the second.
 * @param {string} text @returns {DiskPlacement} Throws an Error with a sentence for a text of another kind.
 */
export function diskPlacement(text) {
  const value = json(text) ?? json(text.split(/\r?\n/).find((line) => line.startsWith("{")) ?? "");
  const brokers = value?.log_dirs ?? value?.brokers;
  if (Array.isArray(brokers) && brokers.some(({ logDirs }) => logDirs)) return { brokers: printed(brokers) };
  if (Array.isArray(brokers) && brokers.some(({ log_dirs }) => log_dirs)) {
    const disks = brokers.map((broker) => picked(broker, ["broker_id", "log_dirs"]));
    return { brokers: disks, ...(value.topics?.length ? placedIn(text) : {}) };
  }
  if (value?.snapshot_version) throw new Error("This snapshot does not list the contents of the log directories.");
  return placedIn(text);
}

/** @param {string} text */
function placedIn(text) {
  const topics = placement(text).topics.map(({ topic_name, placements }) => ({
    topic_name,
    placements: placements.map(({ partition_id, replicas }) => ({ partition_id, replicas })),
  }));
  return { topics };
}

/** `kafka-log-dirs --describe`: without copies that are under way, and without directories that are offline. @param {any[]} brokers @returns {DiskBroker[]} */
function printed(brokers) {
  return brokers.map(({ broker, logDirs }) => ({
    broker_id: broker,
    log_dirs: logDirs
      .filter((/** @type {any} */ { error }) => (error ?? null) === null)
      .map((/** @type {any} */ { logDir, partitions }) => ({ log_dir: logDir, replicas: replicasIn(partitions) })),
  }));
}

/** @param {{partition: string, size: number, isFuture?: boolean}[]} partitions named as `orders-0` @returns {DirTopic[]} */
function replicasIn(partitions) {
  /** @type {Map<string, DirTopic>} */
  const topics = new Map();
  for (const { partition, size, isFuture } of partitions) {
    const [, topic_name = "", id = ""] = /^(.+)-(\d+)$/.exec(partition) ?? [];
    if (isFuture || id === "") continue;
    const topic = topics.get(topic_name) ?? { topic_name, partition_ids: [], partition_bytes: [] };
    topic.partition_ids.push(Number(id));
    topic.partition_bytes.push(size);
    topics.set(topic_name, topic);
  }
  return [...topics.values()];
}
