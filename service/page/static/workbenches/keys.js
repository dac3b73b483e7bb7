/** Keys: how evenly a topic's keys fill its partitions, for any number of them. */
import { rowsOf } from "../datasets.js";
import { KeysAnswer } from "./keys_answer.js";
import { KeysEditor } from "./keys_editor.js";

const PLANS = "/v1/partition-count-plans";
const FINGERPRINTS = "/v1/partitioner-fingerprints";

/** Keys from which a request is an Arrow stream. */
const MANY = 2000;
/** Partitioners that are shown beside the one chosen. */
const RIVALS = ["java", "librdkafka:consistent_random", "sarama", "kafkajs:legacy"];

/**
 * @typedef {object} KeysState
 * @property {import("../datasets.js").Data} data
 * @property {string} partitioner @property {number | null} current @property {number} count
 * @property {number | null} max_skew @property {number | null} records_per_second @property {number | null} max_partition_records_per_second
 * @property {boolean} [moving] whether the slider moves: then only the partitioner chosen is asked for
 * @property {string} pairs lines of key and partition, to find who wrote them @property {number | null} pairs_count
 */
/** @typedef {{plan: any, limits: any, hottest: any[], rivals: any[], writers: any | null}} KeysAnswerData */

/** The stream of a set of keys, made once. @type {WeakMap<object, Promise<Uint8Array>>} */
const streams = new WeakMap();

/** @param {import("../datasets.js").Counted} rows @returns {Promise<Uint8Array>} */
function stream(rows) {
  const known = streams.get(rows);
  if (known) return known;
  const made = import("../vendor/flechette.js").then(({ int32, tableFromArrays, tableToIPC, utf8 }) => {
    const types = { key: utf8(), records: int32() };
    const table = tableFromArrays({ key: rows.keys, records: Int32Array.from(rows.records) }, { types });
    return /** @type {Uint8Array} */ (tableToIPC(table, { format: "stream" }));
  });
  streams.set(rows, made);
  return made;
}

/** @param {import("../datasets.js").Counted} rows @param {Record<string, any>} parameters @param {import("../workbench.js").Post} post @param {string} label */
async function plans(rows, parameters, post, label) {
  const given = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== null));
  if (rows.keys.length < MANY) {
    const histogram = rows.keys.map((key, i) => ({ key, records: rows.records[i] }));
    return post(PLANS, { ...given, histogram }, { label });
  }
  return post(
    `${PLANS}?${new URLSearchParams(Object.entries(given).map(([name, value]) => [name, String(value)]))}`,
    await stream(rows),
    { label },
  );
}

/** @param {KeysState} state @param {import("../workbench.js").Post} post @returns {Promise<KeysAnswerData>} */
async function ask(state, post) {
  const rows = await rowsOf(state.data);
  const { partitioner, count, current, max_skew, records_per_second, max_partition_records_per_second } = state;
  const limits = { max_skew, records_per_second, max_partition_records_per_second };
  const parameters = { partitions_counts: [count], current_partitions_count: current, hottest_keys: 8, ...limits };
  const answer = await plans(rows, { ...parameters, partitioners: [partitioner] }, post, partitioner);
  const found = { plan: answer.plans[0], limits: answer.limits[0], hottest: answer.hottest_keys.by_records };
  if (state.moving) return { ...found, rivals: [], writers: null };
  const partitioners = RIVALS.filter((name) => name !== partitioner);
  const others = await plans(rows, { ...parameters, partitioners }, post, "other partitioners");
  return { ...found, rivals: [found.plan, ...others.plans], writers: await writers(state, post) };
}

/** @param {KeysState} state @param {import("../workbench.js").Post} post */
function writers({ pairs, pairs_count }, post) {
  const observations = pairs.split(/\r?\n/).flatMap((line) => {
    const [, key, partition] = /^(.*?)[\t, ]+(\d+)$/.exec(line) ?? [];
    return key === undefined ? [] : [{ key, partition_id: Number(partition) }];
  });
  if (observations.length === 0) return null;
  const count = pairs_count === null ? {} : { partitions_count: pairs_count };
  return post(FINGERPRINTS, { ...count, observations }, { label: "who wrote the pairs" });
}

/** @returns {KeysState} */
function example() {
  const keys = Array.from({ length: 400 }, (_, i) => `customer-${1000 + i}`);
  const records = keys.map((_, i) => Math.round(2400 / (i + 4) ** 0.8));
  return {
    data: {
      origin: "an example: 400 customers",
      inline: { keys, records },
      distinct: 400,
      total: records.reduce((sum, each) => sum + each, 0),
    },
    partitioner: "java",
    current: 12,
    count: 24,
    max_skew: 1.5,
    records_per_second: null,
    max_partition_records_per_second: null,
    pairs: "",
    pairs_count: null,
  };
}

/** @type {import("../workbench.js").Workbench<KeysState, KeysAnswerData>} */
export const keys = {
  title: "Keys",
  question: "How evenly do these keys fill a topic's partitions?",
  example,
  ask,
  Editor: KeysEditor,
  Answer: KeysAnswer,
};
