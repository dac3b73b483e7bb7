/** Placement: what a decommission or an expansion moves, before anything happens. */
import { hasSizes } from "../descriptions.js";
import { PlacementAnswer } from "./placement_answer.js";
import { PlacementEditor } from "./placement_editor.js";

const PATH = "/v1/reassignments";
/** Partitions up to which the whole frontier is asked for. */
const SMALL = 2000;

/** @typedef {import("../descriptions.js").PlacedTopic} PlacedTopic */
/** @typedef {{broker_id: number, rack_id?: string | null, change?: "" | "drains" | "joins"}} Broker */
/**
 * @typedef {object} PlacementState
 * @property {Broker[]} brokers @property {PlacedTopic[]} topics
 * @property {"fewest-moves" | "even"} objective @property {string} racks @property {string} leaders
 * @property {number | null} throttle MB/s @property {number | null} moves_per_broker @property {number | null} max_moves
 * @property {string} lint a reassignment JSON to be checked
 */
/** @typedef {{plan: any, frontier: any[], findings: any[] | null}} PlacementAnswerData */

/** @param {PlacementState} state @param {import("../workbench.js").Post} post @returns {Promise<PlacementAnswerData>} */
async function ask(state, post) {
  const { topics, objective, racks, leaders, throttle, moves_per_broker, max_moves } = state;
  const brokers = state.brokers.map(({ change, rack_id, ...broker }) => ({
    ...broker,
    ...(rack_id ? { rack_id } : {}),
    ...(change === "drains" ? { draining: true } : {}),
  }));
  const rate = throttle === null || !hasSizes(topics) ? null : Math.round(throttle * 1e6);
  const limits = { throttle_bytes_per_second: rate, moves_per_broker };
  const body = { objective, racks, leaders, brokers, topics, limits, ...(max_moves === null ? {} : { max_moves }) };
  const at = (/** @type {string} */ pointer) =>
    pointer.replace("/limits/throttle_bytes_per_second", "/throttle").replace("/limits/", "/");
  const plan = await post(PATH, body, { label: objective, at });
  const partitions = topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const { frontier = [] } =
    partitions > SMALL
      ? {}
      : await post(`${PATH}?frontier=true`, { ...body, objective: "even" }, { label: "frontier", at });
  return { plan, frontier, findings: await lint(state, brokers, post) };
}

/** @param {PlacementState} state @param {any[]} brokers @param {import("../workbench.js").Post} post */
async function lint({ lint: text, topics }, brokers, post) {
  if (text.trim() === "") return null;
  let reassignment;
  try {
    reassignment = JSON.parse(text);
  } catch (error) {
    return [
      {
        severity: "error",
        rule: "json",
        pointer: "",
        detail: `This is not JSON: ${/** @type {Error} */ (error).message}.`,
      },
    ];
  }
  const answer = await post(`${PATH}:lint`, { brokers, topics, reassignment }, { label: "lint", at: () => "/lint" });
  return answer.findings;
}

/** @returns {PlacementState} */
function example() {
  const counts = { orders: 12, payments: 9, audit: 6 };
  const brokers = [1, 2, 3, 4, 5, 6];
  const topics = Object.entries(counts).map(([topic_name, count], t) => ({
    topic_name,
    placements: Array.from({ length: count }, (_, i) => ({
      partition_id: i,
      replicas: [0, 1, 2].map((j) => brokers[(i + t + j + (i >= 6 ? j : 0)) % 6]),
    })),
    partition_bytes: Array.from({ length: count }, (_, i) => (4 + ((i * 7) % 5) * 3) * 1e9),
  }));
  return {
    brokers: [
      ...brokers.map((broker_id) => ({
        broker_id,
        rack_id: "abc"[(broker_id - 1) % 3],
        change: broker_id === 3 ? /** @type {const} */ ("drains") : /** @type {const} */ (""),
      })),
      { broker_id: 7, rack_id: "c", change: /** @type {const} */ ("joins") },
      { broker_id: 8, rack_id: "a", change: /** @type {const} */ ("joins") },
    ],
    topics,
    objective: "fewest-moves",
    racks: "strict",
    leaders: "balance",
    throttle: 50,
    moves_per_broker: 5,
    max_moves: null,
    lint: "",
  };
}

/** @type {import("../workbench.js").Workbench<PlacementState, PlacementAnswerData>} */
export const placement = {
  title: "Placement",
  question: "What moves when brokers come and go, and what does it do to each rack?",
  example,
  ask,
  Editor: PlacementEditor,
  Answer: PlacementAnswer,
};
