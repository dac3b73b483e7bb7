/** The load of a group's partitions: weights or lag, of all topics or of none, as requests and forms have it. */

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {"" | "weights" | "lag"} Kind none: each partition counts one */
/** A number, null for one that is not known, or what was written instead: the service says what is wrong with it. @typedef {number | string | null} Entry */

/** Partitions of a topic up to which lists follow its number of partitions. */
const MOST = 1_000_000;

/** @param {Topic[]} topics @returns {Kind} */
export function kindOf(topics) {
  if (topics.some(({ lag }) => lag)) return "lag";
  return topics.some(({ partition_weights }) => partition_weights) ? "weights" : "";
}

/** The topics with a load of this kind: what was known is kept. @param {Topic[]} topics @param {Kind} kind @returns {Topic[]} */
export function withKind(topics, kind) {
  return topics.map(({ partition_weights, lag, ...topic }) => {
    if (kind === "") return topic;
    const known = partition_weights ?? (lag && behind(lag));
    if (kind === "weights") return { ...topic, partition_weights: known ?? filled(topic, 1) };
    return {
      ...topic,
      lag: lag ?? { committed_offsets: filled(topic, known ? 0 : null), log_end_offsets: known ?? filled(topic, null) },
    };
  });
}

/** The load of all partitions of which it is known, added up; null if it is of none. @param {Topic[]} topics */
export function totalOf(topics) {
  const known = topics.flatMap(loads).filter((each) => each !== null);
  return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) : null;
}

/** The topics with so much load in all, spread evenly over partitions in whole numbers; null: it is not known. @param {Topic[]} topics @param {number | null} total @returns {Topic[]} */
export function withTotal(topics, total) {
  if (total === null) return withKind(topics, "");
  const count = topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  const until = (/** @type {number} */ partitions) => Math.floor((total * partitions) / count);
  let first = 0;
  return withKind(topics, "").map((topic) => {
    const { length } = filled(topic, 0);
    const partition_weights = Array.from({ length }, (_, i) => until(first + i + 1) - until(first + i));
    first += length;
    return { ...topic, partition_weights };
  });
}

/** @param {Topic} topic @param {Entry} value @returns {Entry[]} */
function filled({ partitions_count }, value) {
  return Array.from({ length: Math.min(partitions_count, MOST) }, () => value);
}

/** The records of each partition that are not yet read; null where that is not known. @param {import("./groups.js").Lag} lag @returns {(number | null)[]} */
function behind({ committed_offsets, log_end_offsets }) {
  return log_end_offsets.map((end, i) => {
    const committed = Number(committed_offsets[i] ?? -1);
    return end === null || committed < 0 ? null : Math.max(Number(end) - committed, 0);
  });
}

/** The load of each partition of a topic; null where it is not known. @param {Topic} topic @returns {(number | null)[]} */
function loads({ partition_weights, lag }) {
  const known = partition_weights ?? (lag ? behind(lag) : []);
  return known.map((each) => (each === null || Number.isNaN(Number(each)) ? null : Number(each)));
}

/**
 * The topic with another number of partitions: further ones weigh as much as the others do on average, and have no lag and
 * no known racks.
 * @param {Topic} topic @param {number} partitions_count @returns {Topic}
 */
export function withCount(topic, partitions_count) {
  if (!(partitions_count >= 1 && partitions_count <= MOST)) return { ...topic, partitions_count };
  /** @template T @param {T[]} list @param {T} further */
  const resized = (list, further) =>
    Array.from({ length: partitions_count }, (_, i) => (i < list.length ? list[i] : further));
  const { partition_racks, partition_weights, lag } = topic;
  return {
    ...topic,
    partitions_count,
    ...(partition_racks && { partition_racks: resized(partition_racks, []) }),
    ...(partition_weights && { partition_weights: resized(partition_weights, mean(partition_weights)) }),
    ...(lag && {
      lag: { committed_offsets: resized(lag.committed_offsets, 0), log_end_offsets: resized(lag.log_end_offsets, 0) },
    }),
  };
}

/** @param {Entry[]} list */
function mean(list) {
  return list.reduce((/** @type {number} */ sum, each) => sum + (Number(each) || 0), 0) / Math.max(list.length, 1);
}

/** The load of all partitions, topic by topic, without what is not known; null where each counts one. @param {Topic[]} topics @returns {number[] | null} */
export function weightsOf(topics) {
  if (kindOf(topics) === "") return null;
  return topics.flatMap((topic) => {
    const known = loads(topic);
    return Array.from({ length: topic.partitions_count }, (_, i) => known[i] ?? 0);
  });
}

/** What a list is in a form: one number if all are alike, `-` where it is not known. @param {Entry[]} list */
export function textOf(list) {
  const alike = list.length > 1 && list.every((each) => each === list[0]);
  return (alike ? [list[0]] : list).map((each) => each ?? "-").join(", ");
}

/** @param {string} text one number for all partitions, or one for each @param {number} count @returns {Entry[]} */
export function listOf(text, count) {
  const entries = text
    .split(/[\s,;]+/)
    .filter((part) => part !== "")
    .map((part) => (part === "-" ? null : Number.isFinite(Number(part)) ? Number(part) : part));
  return entries.length === 1 ? Array(Math.min(count, MOST)).fill(entries[0]) : entries;
}

/** Pointer to an entry of a list → place of the field that has the list. @param {string} pointer */
export function fieldOf(pointer) {
  return pointer.replace(/^(\/topics\/\d+\/(partition_weights|partition_racks|lag\/\w+))(\/\d+)+$/, "$1");
}
