/** What people have at hand of a cluster → parts of requests: a snapshot, a reassignment, or what Kafka's tools print. */

/** @typedef {{partition_id: number, replicas: number[]}} Placed */
/** @typedef {import("./workbenches/load.js").Entry[]} Rates */
/**
 * @typedef {{topic_name: string, placements: Placed[], partition_bytes?: number[],
 *   partition_bytes_per_second?: Rates, partition_bytes_out_per_second?: Rates}} PlacedTopic
 */
/** @typedef {{broker_id: number, rack_id?: string | null, capacity_bytes?: number, used_bytes?: number}} Broker */
/** @typedef {{brokers: Broker[], topics: PlacedTopic[]}} Placement */

/** @param {any} text @returns {any} the value of a JSON text; undefined for any other text */
export function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where replicas are. @param {string} text @returns {Placement} Throws an Error with a sentence for a text of another kind. */
export function placement(text) {
  const value = json(text);
  const placed = value === undefined ? described(text) : value.topics ? snapshot(value) : reassigned(value);
  if (placed.topics.length === 0) {
    throw new Error("No partitions were found. Paste kafka-topics --describe, a reassignment JSON, or a snapshot.");
  }
  const named = new Map(placed.brokers.map((broker) => [broker.broker_id, broker]));
  const ids = new Set(placed.topics.flatMap(({ placements }) => placements.flatMap(({ replicas }) => replicas)));
  for (const broker_id of ids) if (!named.has(broker_id)) named.set(broker_id, { broker_id });
  return { ...placed, brokers: [...named.values()].sort((a, b) => a.broker_id - b.broker_id) };
}

/** Whether the bytes of each partition are known, without which no duration is. @param {PlacedTopic[]} topics */
export function hasSizes(topics) {
  return topics.every(({ partition_bytes }) => partition_bytes);
}

/** @param {{topic: string, partition: number, replicas: number[]}[]} rows @returns {PlacedTopic[]} */
function byTopic(rows) {
  /** @type {Map<string, Placed[]>} */
  const topics = new Map();
  for (const { topic, partition, replicas } of rows) {
    const placements = topics.get(topic) ?? [];
    placements.push({ partition_id: partition, replicas });
    topics.set(topic, placements);
  }
  return [...topics].map(([topic_name, placements]) => ({ topic_name, placements }));
}

/** `kafka-topics --describe`: a line for each partition. @param {string} text @returns {Placement} */
function described(text) {
  const lines = text.matchAll(/Topic:\s*(\S+)\s+Partition:\s*(\d+)\s.*?Replicas:\s*([\d,]+)/g);
  const rows = Array.from(lines, ([, topic, partition, replicas]) => ({
    topic,
    partition: Number(partition),
    replicas: replicas.split(",").map(Number),
  }));
  return { brokers: [], topics: byTopic(rows) };
}

/** Kafka's reassignment JSON. @param {any} value @returns {Placement} */
function reassigned(value) {
  return { brokers: [], topics: byTopic(value.partitions ?? []) };
}

/** The members of a row that are in `names` and known. @param {any} row @param {string[]} names @returns {any} */
export function picked(row, names) {
  return Object.fromEntries(names.filter((name) => (row[name] ?? null) !== null).map((name) => [name, row[name]]));
}

/** What `partition-allocator snapshot` writes, or parts of it: with sizes and disks if all sizes are known. @param {any} value @returns {Placement} */
function snapshot({ brokers = [], topics }) {
  /** @type {any[]} */
  const placed = topics.filter((/** @type {any} */ { placements }) => placements?.length);
  const sized = placed.every(({ partition_bytes = [], placements }) =>
    placements.every((/** @type {any} */ _, /** @type {number} */ i) => (partition_bytes?.[i] ?? null) !== null),
  );
  const disks = sized ? ["capacity_bytes", "used_bytes"] : [];
  const rates = placed.map(written);
  const rated = rates.every((of, i) =>
    placed[i].placements.every((/** @type {any} */ _, /** @type {number} */ j) => (of[j] ?? null) !== null),
  );
  return {
    brokers: brokers.map((/** @type {any} */ broker) =>
      picked(broker, ["broker_id", "rack_id", "fenced", "cordoned", ...disks]),
    ),
    topics: placed.map((topic, i) => ({
      ...picked(topic, ["topic_name", "min_insync_replicas"]),
      placements: topic.placements.map((/** @type {any} */ row) =>
        picked(row, ["partition_id", "replicas", "in_sync_replicas"]),
      ),
      ...(sized ? { partition_bytes: topic.partition_bytes } : {}),
      ...(rated ? { partition_bytes_per_second: rates[i] } : {}),
    })),
  };
}

/**
 * Bytes per second that producers write to each partition: its growth, or where old segments were deleted meanwhile its
 * records per second × its mean bytes per record.
 * @param {any} topic of a snapshot @returns {(number | null)[]}
 */
function written({
  bytes_per_second: growth = [],
  records_per_second: records = [],
  partition_bytes: sizes = [],
  log_end_offsets: ends = [],
  log_start_offsets: starts = [],
}) {
  return Array.from({ length: Math.max(growth.length, records.length) }, (_, i) => {
    const known = [records[i], sizes[i], ends[i], starts[i]].every((value) => (value ?? null) !== null);
    const mean = known && ends[i] > starts[i] ? (records[i] * sizes[i]) / (ends[i] - starts[i]) : null;
    return growth[i] ?? (mean === null ? null : Number(mean.toFixed(3)));
  });
}

/** @typedef {import("./workbenches/groups.js").Topic} Topic */
/** @typedef {import("./workbenches/groups.js").Member} Member */
/** @typedef {{group_id: string, topics: Topic[], members: Member[], group_protocol?: string, assignor?: string}} Group */

/** Groups with their members. @param {string} text @returns {Group[]} Throws an Error with a sentence for a text of another kind. */
export function groupsIn(text) {
  const value = json(text);
  const groups =
    value === undefined
      ? describedGroups(text)
      : (value.groups ?? [])
          .filter((/** @type {any} */ group) => group.group_protocol !== "connect")
          .map((/** @type {any} */ group) => ofSnapshot(group, value));
  const found = groups.filter((/** @type {Group} */ { members }) => members.length > 0);
  if (found.length === 0) {
    throw new Error("No group with members was found. Paste kafka-consumer-groups --describe, or a snapshot.");
  }
  return found;
}

/** `kafka-consumer-groups --describe`: a line for each partition that is read. @param {string} text @returns {Group[]} */
function describedGroups(text) {
  /** @type {string[]} */
  let header = [];
  /** @type {Map<string, {group: string, topic: string, partition: number, committed: number | null, end: number | null, member: string}[]>} */
  const groups = new Map();
  for (const line of text.split(/\r?\n/)) {
    const cells = line.trim().split(/\s+/);
    if (cells.includes("PARTITION") && cells.includes("CONSUMER-ID")) header = cells;
    else if (header.length > 0 && cells.length >= header.length - 2) {
      const cell = (/** @type {string} */ name) => cells[header.indexOf(name)] ?? "-";
      if (!/^\d+$/.test(cell("PARTITION"))) continue;
      const offset = (/** @type {string} */ name) => (/^\d+$/.test(cell(name)) ? Number(cell(name)) : null);
      const row = {
        group: cell("GROUP"),
        topic: cell("TOPIC"),
        partition: Number(cell("PARTITION")),
        committed: offset("CURRENT-OFFSET"),
        end: offset("LOG-END-OFFSET"),
        member: cell("CONSUMER-ID"),
      };
      groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
    }
  }
  return [...groups].map(([group_id, rows]) => {
    const topics = [...new Set(rows.map(({ topic }) => topic))].map((topic_name) => {
      const own = rows.filter(({ topic }) => topic === topic_name);
      const partitions_count = Math.max(...own.map(({ partition }) => partition)) + 1;
      const byId = new Map(own.map((row) => [row.partition, row]));
      const offsets = (/** @type {"committed" | "end"} */ name) =>
        Array.from({ length: partitions_count }, (_, id) => byId.get(id)?.[name] ?? null);
      const lag = { committed_offsets: offsets("committed"), log_end_offsets: offsets("end") };
      return { topic_name, partitions_count, ...(rows.some(({ end }) => end !== null) ? { lag } : {}) };
    });
    const ids = [...new Set(rows.map(({ member }) => member))].filter((id) => id !== "-");
    const members = ids.map((member_id) => ({
      member_id,
      owned_partitions: ownedBy(rows.filter(({ member }) => member === member_id)),
    }));
    return { group_id, topics, members };
  });
}

/** @param {{topic: string, partition: number}[]} rows */
function ownedBy(rows) {
  const names = [...new Set(rows.map(({ topic }) => topic))];
  return names.map((topic_name) => ({
    topic_name,
    partition_ids: rows.filter(({ topic }) => topic === topic_name).map(({ partition }) => partition),
  }));
}

/** @param {any} group @param {any} snapshot @returns {Group} */
function ofSnapshot({ group_id, group_protocol, assignor, members = [], committed_offsets = [] }, snapshot) {
  /** @type {{topics?: any[], brokers?: any[]}} */
  const { topics = [], brokers = [] } = snapshot;
  const read = new Set(
    members.flatMap(
      (/** @type {any} */ { topic_names, owned_partitions = [] }) =>
        topic_names ?? owned_partitions.map((/** @type {any} */ owned) => owned.topic_name),
    ),
  );
  const known = topics.filter(({ topic_name }) => read.has(topic_name));
  const racked = members.some((/** @type {any} */ { rack_id }) => rack_id);
  const racks = new Map(brokers.map(({ broker_id, rack_id }) => [broker_id, rack_id]));
  const lags = known.map((topic) => lagOf(topic, committed_offsets)).filter((lag) => lag !== null);
  const behind = committed_offsets.length > 0 && lags.length === known.length;
  return {
    group_id,
    ...(group_protocol ? { group_protocol } : {}),
    ...(assignor ? { assignor } : {}),
    topics: known.map((topic, i) => ({
      ...picked(topic, ["topic_name", "partitions_count", "topic_id"]),
      ...(behind ? { lag: lags[i] } : {}),
      ...(racked && topic.placements?.length ? { partition_racks: racksOf(topic, racks) } : {}),
    })),
    members: members.map(
      (/** @type {any} */ { member_id, instance_id, rack_id, topic_names, generation_id, owned_partitions }) => ({
        member_id,
        instance_id,
        rack_id,
        topic_names,
        generation_id,
        owned_partitions,
      }),
    ),
  };
}

/** The racks that have replicas of each partition. @param {any} topic of a snapshot @param {Map<number, string>} racks of brokers */
function racksOf({ partitions_count, placements }, racks) {
  const replicas = new Map(placements.map((/** @type {Placed} */ row) => [row.partition_id, row.replicas]));
  return Array.from({ length: partitions_count }, (_, id) =>
    (replicas.get(id) ?? []).map((/** @type {number} */ broker) => racks.get(broker)).filter(Boolean),
  );
}

/**
 * Where a group is in a topic, and where the topic ends; null where the ends are not known.
 * @param {any} topic @param {{topic_name: string, partition_ids: number[], offsets: (number | null)[]}[]} committed
 * @returns {import("./workbenches/groups.js").Lag | null}
 */
function lagOf({ topic_name, partitions_count, log_end_offsets: ends = [] }, committed) {
  if (ends.length !== partitions_count || ends.includes(null)) return null;
  const offsets = new Array(partitions_count).fill(null);
  for (const part of committed.filter((each) => each.topic_name === topic_name))
    part.partition_ids.forEach((id, i) => (offsets[id] = part.offsets[i]));
  return { committed_offsets: offsets, log_end_offsets: ends };
}
