/** Keys: how evenly a topic's keys fill its partitions, for any number of them. */
import { Rejected } from "../ask.js";
import { counted, dataOf, pack, rowsIn, rowsOf, stream } from "../datasets.js";
import { arrowType, jsonValues } from "../key_formats.js";
import { bodyOf, rows, taken } from "../raw.js";
import { typed } from "../worker.js";
import { KeysAnswer } from "./keys_answer.js";
import { KeysEditor } from "./keys_editor.js";

const PLANS = "/v1/partition-count-plans";
const FINGERPRINTS = "/v1/partitioner-fingerprints";

/** What a state has in another form than its request, or beside it. */
const OWN = ["data", "partitioner", "count", "current", "moving", "pairs", "pairs_count", "throughput"];

/** Partitioners that are shown beside the one chosen. */
const RIVALS = ["java", "librdkafka:consistent_random", "sarama", "kafkajs:legacy"];

/**
 * @typedef {object} KeysState
 * @property {import("../datasets.js").Data} data
 * @property {string} partitioner @property {number | null} current @property {number} count
 * @property {number | null} max_skew @property {number | null} records_per_second @property {number | null} max_partition_records_per_second
 * @property {Throughput} [throughput] what the topic must carry, from which a number of partitions follows
 * @property {boolean} [moving] whether the slider moves: then only the partitioner chosen is asked for
 * @property {string} pairs lines of key and partition, to find who wrote them @property {number | null} pairs_count
 */
/** @typedef {{[name in "target_mb_per_second" | "producer_mb_per_second" | "consumer_mb_per_second"]?: number | null}} Throughput */
/**
 * @typedef {{state: KeysState, counts: any[], rivals: any[], writers: any | null}} Compared
 * of the state asked; counts: a plan for each of several numbers of partitions
 * @typedef {{plan: any, limits: any, hottest: any[], throughput: any | null, compared: Compared | null}} KeysAnswerData
 * throughput: what it needs; null if it is not known; compared: null while the slider moves
 */

/** The Arrow stream of keys that are not texts, made once for each format. @type {WeakMap<object, Map<string, Promise<Blob>>>} */
const streams = new WeakMap();

/** @param {import("../datasets.js").Counted | Blob} rows @param {string} format */
function streamOf(rows, format) {
  const made = streams.get(rows) ?? new Map();
  streams.set(rows, made);
  if (!made.has(format)) made.set(format, rows instanceof Blob ? typed(rows, format) : stream(rows, format));
  return made.get(format);
}

/**
 * What a request has of the keys: rows of a histogram, or an Arrow stream of those that JSON cannot hold, or that are many.
 * @param {import("../datasets.js").Data} data @returns {Promise<any[] | Blob>} Throws Rejected.
 */
async function keysIn(data) {
  const { key_format = "string", is_sample } = data.typed ?? {};
  const known = await rowsOf(data);
  try {
    const found = known instanceof Blob && is_sample ? await rowsIn(known) : known; // only a histogram can be a sample
    if (found instanceof Blob) return arrowType(key_format) === "utf8" ? found : await streamOf(found, key_format);
    const values = jsonValues(found.keys, key_format);
    if (values) return histogramOf(values, found.records);
    if (is_sample) throw new Error("A sample with numbers that JSON cannot represent exactly cannot be sent.");
    return await streamOf(found, key_format);
  } catch (error) {
    const { message: detail } = /** @type {Error} */ (error);
    const errors = [{ pointer: "/key_format", detail }];
    throw new Rejected({ title: "The keys are not of this format", detail, status: 422, errors }, null, (at) => at);
  }
}

/** The request but for the keys and the partitioner. @param {KeysState} state */
function parametersOf({ count, current, data, ...state }) {
  const parameters = { partitions_counts: [count], current_partitions_count: current, hottest_keys: 8 };
  return bodyOf({ ...parameters, ...state, ...data.typed }, OWN);
}

/** @param {any[]} keys @param {number[]} records */
const histogramOf = (keys, records) => keys.map((key, i) => ({ key, records: records[i] }));

/** @param {KeysState} state with the keys, if a link has them and JSON can */
function request(state) {
  const { inline, typed: { key_format = "string" } = {} } = state.data;
  let values = null;
  try {
    values = inline ? jsonValues(inline.keys, key_format) : null;
  } catch {
    // the answer names the key that is not of this format
  }
  const keys = inline && values ? { histogram: histogramOf(values, inline.records) } : {};
  const throughput = bodyOf(state.throughput ?? {}, []);
  return { partitioners: [state.partitioner], ...parametersOf(state), ...throughput, ...keys };
}

/** @param {any} body @param {KeysState} state @returns {Promise<Partial<KeysState>>} Throws an Error with a sentence. */
async function take(
  { partitioners = ["java"], partitions_counts = [], current_partitions_count = null, ...body },
  state,
) {
  if (partitioners.length !== 1) throw new Error("/partitioners: one is needed here; others are shown beside it.");
  if (partitions_counts.length !== 1) throw new Error("/partitions_counts: one is needed here; the slider changes it.");
  const { key_format, is_sample, histogram, keys, ...others } = body;
  const { target_mb_per_second, producer_mb_per_second, consumer_mb_per_second, ...rest } = others;
  const throughput = { target_mb_per_second, producer_mb_per_second, consumer_mb_per_second };
  const typed = { key_format, is_sample };
  const same = JSON.stringify(histogram) === JSON.stringify(request(state).histogram);
  const data =
    same && !keys ? { ...state.data, typed } : await dataOf(await pack(countedIn(body)), "keys as JSON", typed);
  const [count] = partitions_counts;
  const set = { partitioner: partitioners[0], count, current: current_partitions_count, throughput, data };
  return { ...taken(rest, state, OWN), ...set };
}

/** @param {any} body @returns {import("../datasets.js").Counted} */
function countedIn(body) {
  const text = (/** @type {any} */ key) => (key === null ? null : String(key));
  if (Array.isArray(body.keys)) return counted(body.keys.map(text));
  const histogram = rows(body, "histogram", "key");
  if (histogram.some(({ bytes }) => bytes !== undefined))
    throw new Error("/histogram: this page counts records alone.");
  return { keys: histogram.map(({ key }) => text(key)), records: histogram.map(({ records = 1 }) => records) };
}

/** The field of what is wrong: a key that is not of its format is shown beside that. @param {string} pointer */
const at = (pointer) => pointer.replace(/^\/(histogram|keys)\/\d+(\/key)?$/, "/key_format");

/** @param {any[] | Blob} keys @param {Record<string, any>} given @param {import("../workbench.js").Post} post @param {string} label */
function plans(keys, given, post, label) {
  if (!(keys instanceof Blob)) return post(PLANS, { ...given, histogram: keys }, { label, at });
  const query = new URLSearchParams(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return post(`${PLANS}?${query}`, keys, { label, at });
}

/** Numbers of partitions to compare with the one chosen, in order. @param {KeysState} state */
function countsAround({ count, current }) {
  const parts = [1 / 8, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 1, 4 / 3, 3 / 2, 2, 3, 4].map((part) =>
    Math.round(part * count),
  );
  return [...new Set([...parts, current ?? count])].filter((each) => each > 0).sort((a, b) => a - b);
}

/** @param {KeysState} state @param {import("../workbench.js").Post} post @returns {Promise<KeysAnswerData>} */
async function ask(state, post) {
  const keys = await keysIn(state.data);
  const { partitioner } = state;
  const parameters = parametersOf(state);
  const needs = bodyOf(state.throughput ?? {}, []);
  const needed = "target_mb_per_second" in needs ? await post(PLANS, needs, { label: "the throughput" }) : null;
  const answer = await plans(keys, { ...parameters, partitioners: [partitioner] }, post, partitioner);
  const found = {
    plan: answer.plans[0],
    limits: answer.limits[0],
    hottest: answer.hottest_keys.by_records,
    throughput: needed?.throughput ?? null,
  };
  if (state.moving) return { ...found, compared: null };
  const { plans: counts } = await plans(
    keys,
    { ...parameters, partitions_counts: countsAround(state), partitioners: [partitioner] },
    post,
    "other numbers of partitions",
  );
  const partitioners = RIVALS.filter((name) => name !== partitioner);
  const others = await plans(keys, { ...parameters, partitioners }, post, "other partitioners");
  const rivals = [found.plan, ...others.plans];
  return { ...found, compared: { state, counts, rivals, writers: await writers(state, post) } };
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

/** What an example limits, and its keys do not outlive. */
export const NO_LIMITS = { max_skew: null, current: null };

/** @returns {KeysState} */
function example() {
  const keys = Array.from({ length: 400 }, (_, i) => `customer-${1000 + i}`);
  const records = keys.map((_, i) => Math.round(2400 / (i + 4) ** 0.8));
  return {
    data: {
      origin: "an example: 400 customers",
      example: true,
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
  blank: () => ({
    ...example(),
    data: { origin: "none yet", inline: { keys: [], records: [] }, distinct: 0, total: 0 },
    ...NO_LIMITS,
  }),
  ask,
  Editor: KeysEditor,
  Answer: KeysAnswer,
  request: {
    path: PLANS,
    of: request,
    take,
    hint: ({ data }) =>
      data.inline
        ? "The other partitioners are computed for the same keys."
        : `Without the keys (${data.origin}), which are too many for it and are sent beside it.`,
  },
};
