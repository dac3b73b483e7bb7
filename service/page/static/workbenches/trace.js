/** Trace: a key → its partition → the brokers that hold it → who reads it, now and after a change. */
import { jsonValues } from "../key_formats.js";
import { bodyOf, taken } from "../raw.js";
import { TraceAnswer } from "./trace_answer.js";
import { TraceEditor } from "./trace_editor.js";

const PATH = "/v1/key-traces";
/** What a state has beside its request. */
const OWN = ["read"];

/**
 * The request; the key as a text, whatever its format.
 * @typedef {object} TraceState
 * @property {string} key @property {string} [key_format] @property {string} partitioner
 * @property {string[]} texts that describe the cluster
 * @property {string | null} [topic_name] @property {number | null} [partitions_count] @property {string | null} [group_id]
 * @property {number | null} [planned_partitions_count] @property {number | null} [planned_members_count]
 */

/** @param {TraceState} state */
function request({ key, ...state }) {
  return bodyOf({ ...state, key: keyOf(key, state.key_format ?? "string") }, OWN);
}

/** The key as JSON has it; a text of another format as it is, which the service refuses. @param {string} key @param {string} format @returns {any} */
function keyOf(key, format) {
  try {
    return jsonValues([key], format)?.[0] ?? key;
  } catch {
    return key;
  }
}

/** @param {any} body @param {TraceState} state @returns {Partial<TraceState>} */
function take({ key, ...body }, state) {
  if (!Array.isArray(body.texts ?? [])) throw new Error("/texts: a list is needed here.");
  return { ...taken({ partitioner: "java", texts: [], ...body }, state, OWN), key: String(key ?? "") };
}

const PARTITIONS = 6;

/** Six partitions on three brokers, of which one is behind, and a group of three. @returns {TraceState} */
function example() {
  const placed = Array.from({ length: PARTITIONS }, (_, id) => {
    const replicas = [id % 3, (id + 1) % 3].map((broker) => broker + 1);
    return `Topic: orders\tPartition: ${id}\tLeader: ${replicas[0]}\tReplicas: ${replicas}\tIsr: ${replicas.filter((broker) => broker !== 3)}`;
  });
  const read = placed.map((_, id) => {
    const member = Math.floor(id / 2) + 1;
    return `billing orders ${id} ${1000 + id * 70} ${1300 + id * 90} ${300 + id * 20} web-${member} /10.0.0.${member} web`;
  });
  const head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID";
  const topic = `Topic: orders\tPartitionCount: ${PARTITIONS}\tReplicationFactor: 2`;
  return {
    key: "order-1042",
    partitioner: "java",
    texts: [[topic, ...placed].join("\n"), "broker,rack\n1,a\n2,b\n3,c", [head, ...read].join("\n")],
    topic_name: "orders",
    planned_partitions_count: 12,
  };
}

/** @type {import("../workbench.js").Workbench<TraceState, any>} */
export const trace = {
  title: "Trace",
  question: "Where is this key, and who reads it?",
  example,
  blank: () => ({ key: "", partitioner: "java", texts: [] }),
  source: {
    needs: "Topics with their partitions are needed: kafka-topics --describe prints them.",
    found: (_, texts) => [{ name: "", state: { key: "", partitioner: "java", texts } }],
  },
  ask: (state, post) => post(PATH, request(state), { label: state.key }),
  Editor: TraceEditor,
  Answer: TraceAnswer,
  request: { path: PATH, of: request, take },
};
