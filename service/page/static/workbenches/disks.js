/** Disks: what moves between the log directories of each broker. */
import { bodyOf, rows, taken } from "../raw.js";
import { DisksAnswer } from "./disks_answer.js";
import { DisksEditor } from "./disks_editor.js";
import { DisksPicker } from "./disks_picker.js";

const PATH = "/v1/log-dir-plans";
/** What a state has beside its request. */
const OWN = ["pressing", "read"];

/** @typedef {{topic_name: string, partition_ids: number[], partition_bytes: number[]}} DirTopic */
/** @typedef {{log_dir: string, capacity_bytes?: number, used_bytes?: number, draining?: boolean, cordoned?: boolean, replicas: DirTopic[]}} LogDir */
/** @typedef {{broker_id: number, log_dirs: LogDir[]}} DiskBroker */
/** @typedef {"draining" | "cordoned"} DiskFlag */
/**
 * The request, and what the page has beside it.
 * @typedef {object} DisksState
 * @property {DiskBroker[]} brokers @property {import("../paste.js").PlacedTopic[]} topics
 * @property {string} [objective] @property {number | null} [tolerance]
 * @property {number | null} [max_moves] @property {number | null} [max_bytes]
 * @property {number | null} [disk_threshold]
 * @property {string[] | null} [included_topics] @property {string[] | null} [excluded_topics]
 * @property {{[name: string]: number | string | null | undefined}} [limits]
 * @property {DiskFlag} [pressing] what a disk that is pressed becomes
 */

/** @param {DisksState} state */
function request(state) {
  const limits = bodyOf(state.limits ?? {}, []);
  return bodyOf({ ...state, limits: Object.keys(limits).length > 0 ? limits : null }, OWN);
}

/** @param {any} body @param {DisksState} state @returns {Partial<DisksState>} */
function take(body, state) {
  for (const broker of rows(body, "brokers", "broker_id"))
    for (const dir of rows(broker, "log_dirs", "log_dir"))
      for (const topic of rows(dir, "replicas", "topic_name"))
        if (![topic.partition_ids, topic.partition_bytes].every(Array.isArray))
          throw new Error(`/brokers: ${dir.log_dir} needs lists of partition_ids and partition_bytes.`);
  for (const topic of rows(body, "topics", "topic_name")) rows(topic, "placements", "partition_id");
  return taken(body, state, OWN);
}

/** The field of what is wrong: a list in one field, and what is in a disk. @param {string} pointer */
const at = (pointer) => pointer.replace(/^\/(included_topics|excluded_topics|topics)(\/.*)?$/, "/$1");

/** @param {DisksState} state @param {import("../workbench.js").Post} post @returns {Promise<any>} */
function ask(state, post) {
  return post(PATH, request(state), { label: state.objective, at });
}

/** Two brokers whose disks grew apart; one disk is to be removed. @returns {DisksState} */
function example() {
  const sizes = [210, 140, 95, 60, 180, 120, 75, 40, 160, 110, 55, 30].map((gigabytes) => gigabytes * 1e9);
  /** @param {string} log_dir @param {number[]} orders @param {number[]} audit @param {Partial<LogDir>} more @returns {LogDir} */
  const dir = (log_dir, orders, audit, more = {}) => ({
    log_dir,
    capacity_bytes: 1e12,
    replicas: [
      { topic_name: "orders", partition_ids: orders, partition_bytes: orders.map((id) => sizes[id]) },
      { topic_name: "audit", partition_ids: audit, partition_bytes: audit.map(() => 20e9) },
    ].filter(({ partition_ids }) => partition_ids.length > 0),
    ...more,
  });
  const placements = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, partition_id) => ({
      partition_id,
      replicas: partition_id % 2 === 0 ? [1, 2] : [2, 1],
    }));
  return {
    brokers: [
      {
        broker_id: 1,
        log_dirs: [
          dir("/data/a", [0, 4, 8, 2], [0, 1]),
          dir("/data/b", [1, 5, 6, 9], [2], { draining: true }),
          dir("/data/c", [3, 7, 10, 11], [3]),
        ],
      },
      {
        broker_id: 2,
        log_dirs: [
          dir("/data/a", [0, 1, 4, 5, 8], []),
          dir("/data/b", [2, 6, 9], [0, 1]),
          dir("/data/c", [3, 7, 10, 11], [2, 3]),
        ],
      },
    ],
    topics: [
      { topic_name: "orders", placements: placements(12) },
      { topic_name: "audit", placements: placements(4) },
    ],
    objective: "fewest-moves",
    disk_threshold: 0.75,
    limits: { throttle_bytes_per_second: 100e6 },
  };
}

/** @type {import("../workbench.js").Workbench<DisksState, any>} */
export const disks = {
  title: "Disks",
  question: "What moves between the disks of a broker?",
  example,
  blank: () => ({ brokers: [], topics: [] }),
  source: {
    needs:
      "What is on each disk and where replicas are is needed: kafka-log-dirs --describe and kafka-topics --describe print it.",
    found: ({ log_dir_plan }) => (log_dir_plan ? [{ name: "", state: log_dir_plan }] : []),
  },
  ask,
  Editor: DisksEditor,
  Picker: DisksPicker,
  Answer: DisksAnswer,
  request: { path: PATH, of: request, take },
  views: ["pressing"],
};
