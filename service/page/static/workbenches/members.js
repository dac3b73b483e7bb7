/** Members: how many members a group needs. */
import { assignorOf } from "../catalogue.js";
import { bodyOf, rows, taken } from "../raw.js";
import { source } from "./groups.js";
import { fieldOf } from "./load.js";
import { MembersAnswer } from "./members_answer.js";
import { countsOf } from "./members_counts.js";
import { MembersEditor } from "./members_editor.js";

const PATH = "/v1/member-count-plans";
/** What a state has beside its request. */
const OWN = ["most", "keda_option", "read"];

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {import("./groups.js").Member} Member */
/**
 * The request, and what the page has beside it.
 * @typedef {object} MembersState
 * @property {string} [group_protocol] @property {string} [assignor]
 * @property {Topic[]} topics with the lag of each partition, or its weight in its place, if it is known
 * @property {Member[]} members
 * @property {number | null} [consumption_rate] @property {number | null} [threads_per_pod] @property {boolean} [standstill]
 * @property {{max_load?: number | null, max_lag_seconds?: number | null}} [limits]
 * @property {{[name: string]: number | null | undefined}} [timing] @property {{[name: string]: any}} [keda]
 * @property {number[] | null} [members_counts] the numbers that are planned; none: those that the service chooses
 * @property {number | null} [most] the largest of them
 * @property {string} [keda_option] the option that the trigger has; none: its defaults
 */

/** @param {MembersState} state */
function request(state) {
  return bodyOf(
    {
      ...state,
      members: state.members.map(({ change: _, ...member }) => member),
      members_counts: countsOf(state),
      ...parts(state, ["limits", "timing", "keda"]),
    },
    OWN,
  );
}

/** The parts of a state that have something set; null for the others. @param {any} state @param {string[]} names */
function parts(state, names) {
  const set = names.map((name) => [name, bodyOf(state[name] ?? {}, [])]);
  return Object.fromEntries(set.map(([name, part]) => [name, Object.keys(part).length > 0 ? part : null]));
}

/** @param {any} body @param {MembersState} state @returns {Partial<MembersState>} */
function take(body, state) {
  rows(body, "topics", "topic_name");
  rows(body, "members", "member_id");
  return { ...taken(body, state, OWN), most: null };
}

/** @param {MembersState} state @param {import("../workbench.js").Post} post @returns {Promise<any>} */
function ask(state, post) {
  const at = (/** @type {string} */ pointer) => fieldOf(pointer.replace(/^\/members_counts\/.*/, "/members_counts"));
  return post(PATH, request(state), { label: assignorOf(state), at });
}

/** @returns {MembersState} */
function example() {
  const lag = (/** @type {number} */ count, /** @type {number} */ base) =>
    Array.from({ length: count }, (_, i) => Math.round(base * (1 + 2.5 / (1 + ((i * 7) % count)))));
  return {
    group_protocol: "classic",
    assignor: "cooperative-sticky",
    topics: [
      { topic_name: "orders", partitions_count: 24, partition_weights: lag(24, 60_000) },
      { topic_name: "refunds", partitions_count: 6, partition_weights: lag(6, 20_000) },
    ],
    members: Array.from({ length: 5 }, (_, i) => ({ member_id: `billing-${i + 1}` })),
    consumption_rate: 4000,
    limits: { max_lag_seconds: 60 },
  };
}

/** @type {import("../workbench.js").Workbench<MembersState, any>} */
export const members = {
  title: "Members",
  question: "How many members does this group need?",
  example,
  blank: () => ({ topics: [], members: [] }),
  source,
  ask,
  Editor: MembersEditor,
  Answer: MembersAnswer,
  request: { path: PATH, of: request, take },
  views: ["keda_option"],
};
