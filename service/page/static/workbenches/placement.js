/** Placement: what a decommission or an expansion moves, before anything happens. */
import { Rejected } from "../ask.js";
import { read } from "../json.js";
import { described } from "../paste.js";
import { bodyOf, rows, taken } from "../raw.js";
import { Brokers } from "./brokers.js";
import { PlacementAnswer } from "./placement_answer.js";
import { Check } from "./placement_check.js";
import { PlacementEditor } from "./placement_editor.js";
import { asksForPlan, OWN } from "./placement_goal.js";
import { hasSizes } from "./placement_load.js";

const PATH = "/v1/reassignments";
const CHECK = "/v1/placement-checks";
/** Partitions up to which the whole frontier is asked for. */
const SMALL = 2000;

/** @typedef {import("../paste.js").PlacedTopic} PlacedTopic */
/** @typedef {"draining" | "demoted" | "cordoned" | "fenced"} Flag */
/**
 * @typedef {{broker_id: number, rack_id?: string | null, weight?: number | null, max_replicas?: number | null,
 *   capacity_bytes?: number | null, used_bytes?: number | null, cpu_usage?: number | null, replaces?: number | null}
 *   & {[flag in Flag]?: boolean}} Broker
 */
/** @typedef {{topics: string, broker_ids: number[]}} BrokerSet */
/** @typedef {{topics: string, leaders?: number, broker_ids?: number[] | null}} TopicLeaders */
/**
 * @typedef {object} Limits
 * @property {number | null} [moves_per_broker] @property {number | null} [moves_per_batch]
 * @property {number | null} [bytes_in_flight] @property {string | null} [order]
 * @property {number | null} [throttle_bytes_per_second] @property {number | null} [duration_seconds]
 * @property {number | null} [throttle_utilization] @property {number | null} [batch_seconds]
 */
/**
 * The request, and what the page has beside it.
 * @typedef {object} PlacementState
 * @property {Broker[]} brokers @property {PlacedTopic[]} topics
 * @property {string} [objective] @property {string} [racks] @property {string} [leaders]
 * @property {any} [balance] a resource, a list of them, or an object of their weights
 * @property {boolean} [per_topic] @property {number | null} [tolerance]
 * @property {number | null} [max_moves] @property {number | null} [max_bytes]
 * @property {number | null} [replication_factor] @property {number | null} [min_insync_replicas]
 * @property {number | null} [price_per_gb] @property {number | null} [disk_threshold]
 * @property {string[] | null} [included_topics] @property {string[] | null} [excluded_topics]
 * @property {number[] | null} [destinations] @property {BrokerSet[] | null} [broker_sets]
 * @property {TopicLeaders[] | null} [min_topic_leaders] @property {boolean} [infer_replaces]
 * @property {Limits} [limits]
 * @property {Flag} [pressing] what a broker that is pressed becomes
 * @property {"both" | "before" | "after"} [shown] the placement in the picture
 * @property {string} [lint] a reassignment JSON to be checked
 */
/** @typedef {{conclusion?: string, findings: any[]}} Linted */
/**
 * @typedef {{check: any, plan: any, frontier: any[], linted: Linted | null}} PlacementAnswerData
 *   plan: null where nothing is asked but what is
 */

/** The field of what is wrong: lists of names, ids and rates are one field each. @param {string} pointer */
function at(pointer) {
  const rates = /^\/topics\/\d+\/partition_bytes(_out)?_per_second/.exec(pointer);
  if (rates) return rates[0];
  if (/^\/balance\/\d/.test(pointer)) return "/balance_further";
  const lists = /^\/(included_topics|excluded_topics|destinations|broker_sets|min_topic_leaders|topics)(?=\/)/;
  return lists.exec(pointer)?.[0] ?? pointer;
}

/** @param {PlacementState} state */
function request(state) {
  const { throttle_bytes_per_second, ...limits } = state.limits ?? {};
  const rate = hasSizes(state.topics) ? { throttle_bytes_per_second } : {}; // without sizes it is refused
  const set = bodyOf({ ...rate, ...limits }, []);
  return bodyOf({ ...state, limits: Object.keys(set).length > 0 ? set : null }, OWN);
}

/** @param {any} body @param {PlacementState} state @returns {Promise<Partial<PlacementState>>} */
async function take({ reassignment, ...body }, state) {
  const topics =
    reassignment && !body.topics
      ? (await described([JSON.stringify(reassignment)])).bodies.reassignment?.topics
      : body.topics;
  rows(body, "brokers", "broker_id");
  for (const topic of rows({ topics }, "topics", "topic_name")) rows(topic, "placements", "partition_id");
  const asked = taken({ ...body, topics }, state, OWN);
  return asksForPlan({ ...state, ...asked }) ? asked : { ...asked, objective: "fewest-moves" };
}

/** @param {PlacementState} state @param {import("../workbench.js").Post} post @returns {Promise<PlacementAnswerData>} */
async function ask(state, post) {
  const body = request(state);
  const plan = asksForPlan(state) ? await post(PATH, body, { label: state.objective ?? "fewest-moves", at }) : null;
  const check = await post(CHECK, { brokers: body.brokers, topics: body.topics }, { label: "check", at });
  const partitions = state.topics.reduce((sum, { placements }) => sum + placements.length, 0);
  const { frontier = [] } =
    plan === null || partitions > SMALL
      ? {}
      : await post(`${PATH}?frontier=true`, whole(body), { label: "frontier", at }).catch(refused);
  return { check, plan, frontier, linted: await lint(state, post) };
}

/** The most even placement may be refused where another is not. @param {any} error */
function refused(error) {
  if (error instanceof Rejected && error.problem.status === 422) return {};
  throw error;
}

/** The question about every number of copies. @param {any} body */
function whole({ max_moves: _, max_bytes: __, tolerance: ___, ...body }) {
  return { ...body, objective: "even" };
}

/** @param {PlacementState} state @param {import("../workbench.js").Post} post */
async function lint({ lint: text = "", topics, brokers }, post) {
  if (text.trim() === "") return null;
  let reassignment;
  try {
    reassignment = read(text);
  } catch (error) {
    return {
      findings: [{ severity: "error", rule: "json", pointer: "", detail: /** @type {Error} */ (error).message }],
    };
  }
  try {
    return await post(`${PATH}:lint`, { brokers, topics, reassignment }, { label: "lint" });
  } catch (error) {
    if (!(error instanceof Rejected) || error.problem.status !== 422) throw error;
    const faults = error.problem.errors ?? [{ pointer: "", detail: error.problem.detail }];
    return { findings: faults.map(({ pointer, detail }) => ({ severity: "error", rule: "form", pointer, detail })) };
  }
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
        ...(broker_id === 3 ? { draining: true } : {}),
      })),
      { broker_id: 7, rack_id: "c" },
      { broker_id: 8, rack_id: "a" },
    ],
    topics,
    objective: "fewest-moves",
    racks: "strict",
    limits: { throttle_bytes_per_second: 50e6, moves_per_broker: 5 },
  };
}

/** @type {import("../workbench.js").Workbench<PlacementState, PlacementAnswerData>} */
export const placement = {
  title: "Placement",
  question: "What moves when brokers come and go, and what does it do to each rack?",
  example,
  blank: () => ({ brokers: [], topics: [] }),
  source: {
    needs: "Where replicas are is needed: kafka-topics --describe prints it.",
    found: ({ reassignment }) => (reassignment ? [{ name: "", state: reassignment }] : []),
  },
  ask,
  Editor: PlacementEditor,
  Now: Check,
  Picker: Brokers,
  Answer: PlacementAnswer,
  request: {
    path: PATH,
    of: request,
    take,
    hint: (state) => (asksForPlan(state) ? "" : `A goal, or a change here, sends this to ${PATH}.`),
  },
  views: ["pressing", "shown"],
};
