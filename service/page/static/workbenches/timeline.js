/** Timeline: the rebalances that events cause, and how long partitions stand still, in several protocols. */
import { Rejected } from "../ask.js";
import { TimelineAnswer } from "./timeline_answer.js";
import { TimelineEditor } from "./timeline_editor.js";

const PATH = "/v1/group-rebalances";

/** @typedef {import("./groups.js").Topic} Topic */
/** @typedef {import("./groups.js").Member} Member */
/** @typedef {{at_ms: number, type: string, member_id?: string, member?: {member_id: string}, members_count?: number, down_ms?: number, pause_ms?: number, for_ms?: number, topic_name?: string, partitions_count?: number}} Event */
/** @typedef {{group_protocol: string, assignor: string}} Way */
/**
 * @typedef {object} TimelineState
 * @property {Way[]} ways one lane each, the first in detail
 * @property {Topic[]} topics @property {Member[]} members @property {Event[]} events
 * @property {number | null} session_timeout_ms @property {number | null} poll_interval_ms
 * @property {number} generation the rebalance of the first lane that is looked at
 */
/** @typedef {{way: Way, answer: any, refused: string}} Lane */
/** @typedef {{lanes: Lane[]}} TimelineAnswerData */

/** @param {TimelineState} state @param {import("../workbench.js").Post} post @returns {Promise<TimelineAnswerData>} */
async function ask({ ways, topics, members, events, session_timeout_ms, poll_interval_ms }, post) {
  const timing = Object.fromEntries(
    Object.entries({ session_timeout_ms, poll_interval_ms }).filter(([, value]) => value !== null),
  );
  const group = { topics, members: members.map(({ change: _, ...member }) => member), events, timing };
  const asked = ways.map(async (way, i) => {
    const at = (/** @type {string} */ pointer) => pointer.replace(/^\/(assignor|group_protocol)/, `/ways/${i}/$1`);
    try {
      return {
        way,
        answer: await post(PATH, { ...way, ...group }, { label: nameOf(way), at }),
        refused: "",
      };
    } catch (error) {
      if (i === 0 || !(error instanceof Rejected) || error.problem.status !== 422) throw error;
      return { way, answer: null, refused: error.problem.detail };
    }
  });
  return { lanes: await Promise.all(asked) };
}

/** @param {Way} way */
export function nameOf({ group_protocol, assignor }) {
  return group_protocol === "classic" ? assignor : `${group_protocol}: ${assignor}`;
}

/** @returns {TimelineState} */
function example() {
  return {
    ways: [
      { group_protocol: "classic", assignor: "cooperative-sticky" },
      { group_protocol: "classic", assignor: "range" },
      { group_protocol: "consumer", assignor: "uniform" },
    ],
    topics: [{ topic_name: "orders", partitions_count: 24 }],
    members: ["billing-1", "billing-2", "billing-3", "billing-4"].map((member_id) => ({ member_id })),
    events: [
      { at_ms: 20_000, type: "member_joins", member: { member_id: "billing-5" } },
      { at_ms: 60_000, type: "member_crashes", member_id: "billing-2" },
      { at_ms: 150_000, type: "rolling_restart", down_ms: 4000, pause_ms: 10_000 },
    ],
    session_timeout_ms: 45_000,
    poll_interval_ms: 500,
    generation: 1,
  };
}

/** @type {import("../workbench.js").Workbench<TimelineState, TimelineAnswerData>} */
export const timeline = {
  title: "Timeline",
  question: "Which rebalances do these events cause, and what stands still meanwhile?",
  example,
  ask,
  Editor: TimelineEditor,
  Answer: TimelineAnswer,
};
