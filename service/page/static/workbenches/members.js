/** Members: how many members a group needs. */
import { MembersAnswer } from "./members_answer.js";
import { MembersEditor } from "./members_editor.js";

const PATH = "/v1/member-count-plans";

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {import("./groups.js").Member} Member */
/**
 * @typedef {object} MembersState
 * @property {string} group_protocol @property {string} assignor
 * @property {Topic[]} topics with the lag of each partition as `partition_weights`, if it is known
 * @property {Member[]} members @property {number | null} most the largest number of members that is planned
 * @property {number | null} consumption_rate @property {number | null} max_load @property {number | null} max_lag_seconds
 */

/** Members up to which each number is planned by default. */
const MOST = 60;

/** @param {MembersState} state @param {import("../workbench.js").Post} post @returns {Promise<any>} */
function ask({ group_protocol, assignor, topics, members, most, consumption_rate, max_load, max_lag_seconds }, post) {
  const partitions = topics.reduce((sum, { partitions_count }) => sum + partitions_count, 0);
  const largest = most ?? Math.min(partitions, MOST);
  const body = {
    group_protocol,
    assignor,
    topics,
    members: members.map(({ change: _, ...member }) => member),
    members_counts: Array.from({ length: largest }, (_, i) => i + 1),
    consumption_rate,
    limits: { max_load, max_lag_seconds },
  };
  return post(PATH, body, { label: assignor, at: (pointer) => pointer.replace("/limits/", "/") });
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
    most: null,
    consumption_rate: 4000,
    max_load: null,
    max_lag_seconds: 60,
  };
}

/** @type {import("../workbench.js").Workbench<MembersState, any>} */
export const members = {
  title: "Members",
  question: "How many members does this group need?",
  example,
  ask,
  Editor: MembersEditor,
  Answer: MembersAnswer,
};
